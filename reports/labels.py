"""Names, texts and colours shared by all tables, figures and the page."""

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import pandas as pd

from algorithms.method import MethodInfo
from algorithms.registry import known_method
from benchmark.plan.runs import front_text
from benchmark.records.record import RunRecord
from benchmark.records.record import dataset_label as dataset_label
from benchmark.statistics.intervals import MIN_SEEDS_FOR_INTERVAL, number_of_seeds
from benchmark.styles import Style, distinct_styles

VARIANT_COLOURS = ("#882255", "#999933", "#aa4499", "#117733", "#cc6677", "#ddcc77", "#332288", "#44aa99")
"""For further variants of an algorithm: Paul Tol's muted colours, which colour-blind readers can distinguish."""


def variant_text(variant: str) -> str:
    """Return the settings of a variant in words: those that are true or false by name, such as "no stale models"."""
    words = []
    for setting in filter(None, variant.split(", ")):
        name, _, value = setting.partition("=")
        name = name.replace("_", " ")
        words.append({"True": name, "False": f"no {name}"}.get(value, f"{name}={value}" if value else name))
    return ", ".join(words)


@dataclass(frozen=True)
class Methods:
    """The methods of the runs that a report is about: built-in ones by their info, any other as its runs record it.

    So a report is the same wherever it is made: no class of a user or of another package is imported for it.
    """

    recorded: Mapping[str, MethodInfo] = field(default_factory=dict)

    @classmethod
    def of(cls, records: Iterable[RunRecord]) -> "Methods":
        """Return what runs record about their methods; the latest run of a method counts."""
        return cls({record.method.name: record.method.info for record in records})

    def info(self, name: str) -> MethodInfo:
        """Return what is known about a method."""
        return known_method(name, self.recorded.get(name))

    def label(self, name: str) -> str:
        """Return the label that a method declares; for a user's own class without one, its name and module."""
        return self.info(name).label

    def reference_label(self, name: str, variant: str) -> str:
        """Return the name of a reference; of settings that are true or false, those that are true, in words."""
        text = variant_text(", ".join(setting for setting in variant.split(", ") if not setting.endswith("=False")))
        return self.label(name) + (f" ({text})" if text else "")

    def front_text(self, name: str, value: float) -> str:
        """Return a value on the front of a method with its symbol, such as γ=5; empty if there is none."""
        return front_text(self.info(name).symbol, value)

    def styles_of(self, names: Iterable[str]) -> dict[str, Style]:
        """Return the styles of the methods of one figure; no two are equal."""
        return distinct_styles((name, self.info(name).style) for name in names)

    def curve_styles(self, names: Sequence[str]) -> list[Style]:
        """Return the styles of the curves of a picture, given the method of each.

        The first curve of a method has its colour; its further variants have other colours.
        """
        further = itertools.cycle(VARIANT_COLOURS)
        styles = self.styles_of(names)
        return [
            replace(styles[name], colour=next(further)) if name in names[:number] else styles[name]
            for number, name in enumerate(names)
        ]


def titled(title: str, data: str) -> str:
    """Return a title with the name of its data, without naming them twice: Figure d: LastFM, tagging events."""
    first, colon, subject = title.rpartition(": ")
    if data.startswith(subject):
        return f"{first}{colon}{data}"
    name = data.partition(",")[0]
    return f"{title}{data.removeprefix(name)}" if title.endswith(f" {name}") else f"{title}, {data}"


def seeds_text(seeds: Iterable[int]) -> str:
    """Return a short list of seeds, three or more in a row as a range: 0–3, 7, 8."""
    parts: list[str] = []
    run: list[int] = []
    for seed in [*sorted(set(seeds)), None]:
        if run and seed != run[-1] + 1:
            parts += [f"{run[0]}–{run[-1]}"] if len(run) > 2 else map(str, run)
            run = []
        if seed is not None:
            run.append(seed)
    return ", ".join(parts)


def seeds_line(seeds: Sequence[int]) -> str:
    """Return a line that names the seeds of a mean."""
    line = f"{number_of_seeds([len(seeds)])} ({seeds_text(seeds)})"
    return line if len(seeds) >= MIN_SEEDS_FOR_INTERVAL else f"{line}: no interval"


def seeds_note(seeds: "pd.Series[int]") -> str:
    """Return a note for a picture: the number of seeds, and what bars or dots are."""
    number, most = number_of_seeds(seeds), int(seeds.max())
    if most < MIN_SEEDS_FOR_INTERVAL:
        return number if most == 1 else f"{number}: small dots are single seeds"
    return f"{number}; bars: 95 % intervals"


def seeds_sentence(seeds: "pd.Series[int]") -> str:
    """Return a sentence on the number of seeds and the intervals."""
    least, most = int(seeds.min()), int(seeds.max())
    if most == 1:
        return "A single seed, so no intervals."
    number = number_of_seeds(seeds)
    if most < MIN_SEEDS_FOR_INTERVAL:
        return f"Means over {number}; with fewer than {MIN_SEEDS_FOR_INTERVAL} there are no intervals."
    few = f" (omitted below {MIN_SEEDS_FOR_INTERVAL} seeds)." if least < MIN_SEEDS_FOR_INTERVAL else "."
    return f"Means over {number} with 95 % Student t intervals{few}"
