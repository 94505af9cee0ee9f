"""LastFM, tagging events of half the users; an artist's words are the tags of all users, these included."""

from dataclasses import replace

from data_pipelines.data_set import Contents, Counts, Parameters
from data_pipelines.datasets import lastfm_tagged
from data_pipelines.fetch.archive import Archive
from data_pipelines.tables.tag_events import TagAssignments, event_contents, half_of_users


def read(archive: Archive, parameters: Parameters) -> Contents:
    """Read the events of half the users, and the words of all."""
    return contents(lastfm_tagged.assignments(archive))


def read_package(archive: Archive, parameters: Parameters) -> Contents:
    """Read the same from the package."""
    return contents(lastfm_tagged.package_assignments(archive))


def contents(tagged: TagAssignments) -> Contents:
    """Return the events of half the users, with the words of all."""
    return event_contents(tagged, is_player=half_of_users(tagged.users))


PUBLISHED = Counts(users=946, items=9_629, interactions=49_573)
"""Counted in the complete archive, for the half of the users that takes part."""

DATA_SET = replace(
    lastfm_tagged.DATA_SET,
    name="lastfm-tagged-own-words",
    label="LastFM, half of the users, their own words included",
    packages=(replace(lastfm_tagged.DATA_SET.packages[0], read=read_package),),
    published=PUBLISHED,
    leak=(
        "Half of the users take part, always the same half. An artist's words are the tags of all users: a leak. "
        "Compare with lastfm-tagged-other-words, which has the same events."
    ),
    read=read,
)
