"""A log of interactions: what it has, and the streams that a decision is made on.

Repeats, pools and negatives are choices about the data that may decide the answer. `cases` returns the stream of the
answer, and the streams in which one of these choices is made otherwise.
"""

from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmark.board.task import Task, load_task, playable_names, task_of
from benchmark.plan.own_data_sets import is_plugin
from benchmark.recommend.data import data_from, is_file_name
from data_pipelines.data_set import UNKNOWN_TIME, data_set_names
from data_pipelines.own_data.options import ImportOptions, Repeats
from data_pipelines.prepare.prepared import Prepared, open_prepared, prepared_names
from data_pipelines.stream_spec import DatasetSpec, SimulatedSpec
from data_pipelines.streams.recorded import DAY, WINDOW_DAYS, seconds_per_unit
from data_pipelines.support.messages import unknown_name

MANY_REPEATS = 0.2
"""With a larger share of repeats, the answer is given with and without them."""

MOST_OF_CATALOGUE = 1 / 3
"""A client who took a larger share of the items leaves only those that sell badly as items never taken."""

MAX_PLAYED = 100_000
"""Decisions that are played: of more, those of a sample of the clients."""


@dataclass(frozen=True)
class Log:
    """What the interactions of a data set have.

    Attributes:
        name: the name of the data set.
        clients: the number of clients.
        interactions: the number of interactions.
        repeated: the share of interactions whose client took the item before.
        most_taken: the largest share of all items that one client took.
        has_times: whether the times of all interactions are known, as dates or as numbers.
        days: the days from the first to the last interaction, at least 1; NaN if times are not dates.
        since: the first day; empty if times are not dates.
        until: the last day.
        has_ratings: whether it is known which interactions are likes.
        has_values: whether it is known what an interaction is worth.
    """

    name: str
    clients: int
    interactions: int
    repeated: float
    most_taken: float
    has_times: bool
    days: float
    since: str
    until: str
    has_ratings: bool
    has_values: bool

    @classmethod
    def of(cls, prepared: Prepared) -> "Log":
        """Describe prepared data."""
        pairs = np.unique(prepared.users * len(prepared.item_ids) + prepared.items)
        taken = np.unique(pairs // len(prepared.item_ids), return_counts=True)[1]
        known = prepared.times[prepared.times != UNKNOWN_TIME]
        days, since, until = float("nan"), "", ""
        has_times = len(known) == len(prepared.times)
        with suppress(ValueError):  # the times are numbers that are no dates
            seconds = np.array([known.min(), known.max()]) * seconds_per_unit(known)
            days = max(1.0, float(seconds[1] - seconds[0]) / DAY)
            since, until = (str(day) for day in seconds.astype("datetime64[s]").astype("datetime64[D]"))
        return cls(
            prepared.name,
            len(taken),
            len(prepared.users),
            1 - len(pairs) / len(prepared.users),
            float(taken.max()) / len(prepared.item_ids),
            has_times,
            days,
            since,
            until,
            prepared.manifest.get("positive_rating") is not None,
            prepared.values is not None,
        )


@dataclass(frozen=True)
class Case:
    """A stream of a log, and which choice about the data is made otherwise than for the answer.

    Attributes:
        task: the stream, as a task.
        pools: how the pools are drawn, in a sentence.
        choice: the choice that is made otherwise; empty for the case of the answer.
        used: what was chosen for the answer, in words.
        other: what is chosen here, in words.
    """

    task: Task
    pools: str = ""
    choice: str = ""
    used: str = ""
    other: str = ""


REPEATS_IN_WORDS = {"once": "the first time that a client takes an item", "keep": "every time that an item is taken"}
RATED_IN_WORDS = {"rated": "items that the client rated", "sampled": "items that the client never rated"}
THE_OTHERS = "the other items of a pool"


def cases(spec: DatasetSpec, log: Log, repeats: Repeats | None = None) -> list[Case]:
    """Return the case of the answer, and those in which one choice is made otherwise.

    `repeats` is the user's own choice, which is not made otherwise.
    """
    asked = repeats or "once"
    main = stream_of(spec, log, asked)
    others: list[tuple[str, str, str, DatasetSpec]] = []
    if main.pools == "rated":
        sampled = stream_of(spec, log, asked, pools="sampled")
        others.append((THE_OTHERS, RATED_IN_WORDS["rated"], RATED_IN_WORDS["sampled"], sampled))
    else:
        if repeats is None and log.repeated > MANY_REPEATS:
            once, keep = REPEATS_IN_WORDS["once"], REPEATS_IN_WORDS["keep"]
            others.append(("what is a decision", once, keep, stream_of(spec, log, "keep")))
        negatives = "popularity" if main.negatives == "not-then" else "uniform"
        other = stream_of(spec, log, asked, negatives=negatives)
        others.append((THE_OTHERS, negatives_text(main), negatives_text(other), other))
    return [
        Case(task_of(main), pools_text(main, log)),
        *(Case(task_of(each), pools_text(each, log), *words) for *words, each in others),
    ]


def cases_from(data: Any, options: ImportOptions | None = None) -> tuple[Log | None, list[Case]]:
    """Return the case of the answer for data as a user names them, and those in which a choice is made otherwise.

    A task or a specification states its choices: there is one case, and no log.
    """
    if isinstance(data, Task):
        return None, [Case(data)]
    if isinstance(data, SimulatedSpec | DatasetSpec):
        return None, [Case(task_of(data))]
    text = str(data)
    if text in playable_names() and not (options and options.given()):
        return None, [Case(load_task(text), f"Pools: as the task {text} states.")]
    known = {*playable_names(), *data_set_names(), *prepared_names()}
    if not is_file_name(text) and text not in known and not is_plugin(text):
        raise unknown_name("data set or task", text, known)
    spec = data_from(text, options).bound()
    log = Log.of(open_prepared(spec.dataset))
    return log, cases(spec, log, options.repeats if options else None)


def stream_of(spec: DatasetSpec, log: Log, repeats: Repeats, **choices: Any) -> DatasetSpec:
    """Return the stream with these repeats and choices; those that are left open are made to fit the log.

    Data with ratings have pools of rated items. In other pools, the other items are those that the client never took,
    or with times, where that would leave too few or the wrong ones, those not taken around the time.
    """
    pools = choices.pop("pools", "rated" if log.has_ratings else "sampled")
    if pools == "rated":
        options: dict[str, Any] = {"pools": "rated"}
    else:
        has_again = repeats == "keep" and log.repeated > 0
        is_dated = log.has_times and log.since != "" and (has_again or log.most_taken > MOST_OF_CATALOGUE)
        options = {"negatives": "not-then" if is_dated else "popularity", **choices}
        options |= {"repeats": repeats} if log.repeated or is_dated else {}
        options |= {"order": "time"} if log.has_times else {}
    size = log.interactions * (1 - log.repeated if repeats == "once" else 1)
    limit = MAX_PLAYED * (spec.arms if pools == "rated" else 1)
    options |= {"max_events": limit} if size > limit else {}
    fields = {**spec.model_dump(exclude_defaults=True), **options, "dataset": spec.dataset}
    return DatasetSpec.model_validate(fields)


def negatives_text(spec: DatasetSpec) -> str:
    """Return which items a client is offered beside the one that was taken."""
    if spec.negatives == "uniform":
        return "items that the client never took, each equally likely"
    when = "never took"
    if spec.negatives == "not-then":
        before = "before or " if spec.repeats == "once" else ""
        when = f"did not take {before}within the {WINDOW_DAYS} days around it"
    return f"items that the client {when}, in proportion to their popularity"


def pools_text(spec: DatasetSpec, log: Log) -> str:
    """Return how pools are drawn, and from which events, in one or two sentences."""
    if spec.pools == "rated":
        text = f"Pools: {spec.arms} items that the client rated; the likes are what can be taken."
    else:
        counted = f" ({REPEATS_IN_WORDS[spec.repeats]})" if log.repeated else ""
        text = f"Pools: an item that the client took{counted} and {spec.arms - 1} {negatives_text(spec)}."
    if spec.max_events is not None:
        text += f" A sample of the clients, with at most {spec.max_events:,} of the interactions."
    return text
