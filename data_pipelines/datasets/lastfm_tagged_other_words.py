"""LastFM, tagging events of half the users; an artist's words are the tags of the other half only."""

from dataclasses import replace

from data_pipelines.data_set import Contents, Parameters
from data_pipelines.datasets import lastfm_tagged, lastfm_tagged_own_words
from data_pipelines.fetch.archive import Archive
from data_pipelines.tables.tag_events import TagAssignments, event_contents, half_of_users


def read(archive: Archive, parameters: Parameters) -> Contents:
    """Read the events of half the users, and the words of the others."""
    return contents(lastfm_tagged.assignments(archive))


def read_package(archive: Archive, parameters: Parameters) -> Contents:
    """Read the same from the package."""
    return contents(lastfm_tagged.package_assignments(archive))


def contents(tagged: TagAssignments) -> Contents:
    """Return the events of half the users, with the words of the other half."""
    is_player = half_of_users(tagged.users)
    return event_contents(tagged, is_player=is_player, gives_words=~is_player)


DATA_SET = replace(
    lastfm_tagged_own_words.DATA_SET,
    name="lastfm-tagged-other-words",
    label="LastFM, half of the users, words of the others only",
    packages=(replace(lastfm_tagged.DATA_SET.packages[0], read=read_package),),
    remarks=(
        "Half of the users take part, always the same half. An artist's words are the tags of the other half: no leak. "
        "Compare with lastfm-tagged-own-words, which has the same events.",
    ),
    leak="",
    read=read,
)
