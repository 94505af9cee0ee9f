"""The benchmark protocol: a validated TOML file with a version and a fingerprint."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field, model_validator

from benchmark.plan.run_key import canonical
from benchmark.statistics import selection
from benchmark.statistics.budgets import require_reporting
from benchmark.statistics.comparison import Rules
from data_pipelines.stream_spec import Strict
from data_pipelines.support.messages import load_toml

if TYPE_CHECKING:
    import pandas as pd

FILE = Path(__file__).with_name("protocol.toml")
MAX_BYTES = 100_000
MAX_SEED = 1_000_000

Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
NotNegative = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Share = Annotated[float, Field(gt=0, lt=1)]
Count = Annotated[int, Field(ge=1, le=1_000_000)]
Seed = Annotated[int, Field(ge=0, le=MAX_SEED)]
TaskName = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]{0,63}$")]
Budget = Annotated[float, Field(ge=0)]
Purpose = Literal["choose", "report"]


class SeedRange(Strict):
    """All seeds from `first` to `last`."""

    first: Seed
    last: Seed

    @property
    def seeds(self) -> tuple[int, ...]:
        """The seeds."""
        return tuple(range(self.first, self.last + 1))

    @model_validator(mode="after")
    def _not_empty(self) -> "SeedRange":
        if self.last < self.first:
            raise ValueError(f"last must be at least first ({self.first}), got {self.last}")
        return self


class Budgets(Strict):
    """Budgets in full messages per decision, those of the primary endpoint, and the share that choices may use."""

    all: Annotated[list[Budget], Field(min_length=1, max_length=100)]
    primary: Annotated[list[Budget], Field(min_length=1, max_length=100)]
    slack: Annotated[float, Field(gt=0, le=1)]

    @model_validator(mode="after")
    def _consistent(self) -> "Budgets":
        if self.all != sorted(set(self.all)) or self.all[0] != 0:
            raise ValueError(f"all must be increasing, starting at 0, got {self.all}")
        if len(set(self.primary)) < len(self.primary) or not set(self.primary) <= set(self.all):
            raise ValueError(f"primary must be distinct budgets from all ({self.all}), got {self.primary}")
        return self


class Seeds(Strict):
    """Seeds on which configurations are chosen, seeds of the full board, and those of every try."""

    choosing: SeedRange
    reporting: SeedRange
    trying: SeedRange

    def purpose(self, seed: int) -> Purpose:
        """Return the purpose of runs on a seed: those for choosing choose, all others report."""
        return "choose" if self.choosing.first <= seed <= self.choosing.last else "report"

    def split(self, runs: "pd.DataFrame") -> tuple["pd.DataFrame", "pd.DataFrame"]:
        """Split a table of runs, by its column seed, into those that choose and those that report."""
        chooses = runs["seed"].between(self.choosing.first, self.choosing.last)
        return runs[chooses], runs[~chooses]

    @model_validator(mode="after")
    def _separate(self) -> "Seeds":
        for seeds in (self.reporting.seeds, self.trying.seeds):
            require_reporting(seeds, self.choosing.seeds)
        if {*self.reporting.seeds} & {*self.trying.seeds}:
            raise ValueError(f"trying must be outside the report seeds, got {self.trying.first} to {self.trying.last}")
        return self


class HalvingPass(Strict):
    """One pass of successive halving: its seeds, and how many configurations per budget continue."""

    seeds: SeedRange
    keep: Count


class Quick(Strict):
    """The size of a quick board."""

    configurations: Count
    choosing_seeds: Count
    report_seeds: Count


class Tuning(Strict):
    """The grid that every method is tuned over."""

    alpha: Annotated[list[NotNegative], Field(min_length=1, max_length=100)]
    ridge_factors: Annotated[list[Positive], Field(min_length=1, max_length=100)]
    front_values: Count
    max_configurations: Count

    @model_validator(mode="after")
    def _as_many_as_allowed(self) -> "Tuning":
        for name, grid in (("alpha", self.alpha), ("ridge_factors", self.ridge_factors)):
            if len(set(grid)) < len(grid):
                raise ValueError(f"{name} must be distinct values, got {grid}")
        size = len(self.alpha) * len(self.ridge_factors) * self.front_values
        if size != self.max_configurations:
            raise ValueError(f"max_configurations must be the size of the grid, {size}, got {self.max_configurations}")
        return self


class Fixed(Strict):
    """The paper's methods and values, for the division without tuning."""

    methods: Annotated[list[Annotated[str, Field(min_length=1, max_length=100)]], Field(min_length=1, max_length=100)]
    alpha: NotNegative
    ridge: Positive
    simulated_alpha: NotNegative | Literal["theory"]
    simulated_ridge: Positive


class Comparison(Strict):
    """Bands and verdicts of the board."""

    reference: Annotated[str, Field(min_length=1, max_length=100)]
    confidence: Share
    repetitions: Annotated[int, Field(ge=100, le=1_000_000)]
    bootstrap_seed: Seed
    margin: Share
    min_report_seeds: Annotated[int, Field(ge=2, le=MAX_SEED)]


class Facts(Strict):
    """What a task can show."""

    ranking_seeds: SeedRange
    ranking_prior: Positive
    last_decisions: Annotated[list[Count], Field(min_length=1, max_length=100)]

    @property
    def first_decisions(self) -> tuple[int, ...]:
        """The first decision number of each group."""
        return (1, *(last + 1 for last in self.last_decisions))

    @property
    def groups(self) -> tuple[str, ...]:
        """The names of the groups of decision numbers, such as 2-5."""
        pairs = zip(self.first_decisions, self.last_decisions, strict=False)
        return (*(f"{first}" if first == last else f"{first}-{last}" for first, last in pairs), "later")

    @model_validator(mode="after")
    def _increasing(self) -> "Facts":
        if self.last_decisions != sorted(set(self.last_decisions)):
            raise ValueError(f"last_decisions must be increasing, got {self.last_decisions}")
        return self


class Paper(Strict):
    """Verdicts on the paper's claims."""

    reward_margin: Share
    communication_margin: Share
    inside_confidence: Share
    outside_confidence: Share
    level: Share
    min_seeds: Annotated[int, Field(ge=2, le=MAX_SEED)]
    above_least_regret: Annotated[list[Positive], Field(min_length=1, max_length=100)]


class BenchmarkProtocol(Strict):
    """The benchmark protocol."""

    version: Count
    tasks: Annotated[list[TaskName], Field(min_length=1, max_length=1000)]
    retired: dict[TaskName, Annotated[str, Field(min_length=1, max_length=200)]]
    budgets: Budgets
    seeds: Seeds
    passes: Annotated[list[HalvingPass], Field(min_length=1, max_length=100)]
    quick: Quick
    tuning: Tuning
    fixed: Fixed
    comparison: Comparison
    facts: Facts
    paper: Paper

    @model_validator(mode="after")
    def _consistent(self) -> "BenchmarkProtocol":
        if len(set(self.tasks)) < len(self.tasks):
            raise ValueError(f"tasks must be distinct, got {self.tasks}")
        for name in {*self.tasks} & {*self.retired}:
            raise ValueError(f"retired must be other tasks than those that are ranked, got {name}")
        played = tuple(seed for current in self.passes for seed in current.seeds.seeds)
        if played != self.seeds.choosing.seeds:
            raise ValueError(f"passes must use every choosing seed once, in order, got {list(played)}")
        kept = [current.keep for current in self.passes]
        if kept != sorted(kept, reverse=True) or kept[-1] != 1:
            raise ValueError(f"keep must decrease from pass to pass, to 1 in the last, got {kept}")
        if len(self.seeds.reporting.seeds) < self.comparison.min_report_seeds:
            raise ValueError(
                f"seeds.reporting must have at least {self.comparison.min_report_seeds} seeds, "
                f"got {len(self.seeds.reporting.seeds)}"
            )
        return self

    def smaller(self, passes: Sequence[tuple[int, int]], **changes: Any) -> "BenchmarkProtocol":
        """Return a protocol with fewer seeds for choosing, and other tables of values instead of its own.

        `passes` are those of successive halving: the number of seeds of each, and how many configurations continue.
        """
        content, first = self.model_dump(), self.seeds.choosing.first
        content["passes"] = []
        for seeds, keep in passes:
            content["passes"].append({"seeds": {"first": first, "last": first + seeds - 1}, "keep": keep})
            first += seeds
        content["seeds"]["choosing"]["last"] = first - 1
        return BenchmarkProtocol.model_validate({**content, **changes})

    @property
    def fingerprint(self) -> str:
        """The hash of all values; comments and the order of fields do not matter."""
        content = json.dumps(_canonical(self.model_dump()), sort_keys=True, allow_nan=False)
        return hashlib.sha256(content.encode()).hexdigest()

    def limits(self) -> dict[float, float]:
        """Return the mean communication up to which a configuration may be chosen for each budget."""
        return {budget: self.budgets.slack * budget for budget in self.budgets.all}

    def halving(self) -> tuple[selection.Pass, ...]:
        """Return the passes of successive halving."""
        return tuple(selection.Pass(current.seeds.seeds, current.keep) for current in self.passes)

    def rules(self) -> Rules:
        """Return the numbers that comparisons need."""
        return Rules(
            primary_budgets=tuple(self.budgets.primary),
            margin_share=self.comparison.margin,
            confidence=self.comparison.confidence,
            repetitions=self.comparison.repetitions,
            min_seeds=self.comparison.min_report_seeds,
            seed=self.comparison.bootstrap_seed,
        )


def load_protocol(path: Path | None = None) -> BenchmarkProtocol:
    """Read a protocol, by default the shipped one; a file that is not valid raises ValueError with one line."""
    return load_toml(path, BenchmarkProtocol, MAX_BYTES) if path is not None else _shipped(FILE)


@cache
def _shipped(path: Path) -> BenchmarkProtocol:
    """Read the shipped protocol once: every record asks for the purpose of its seed."""
    return load_toml(path, BenchmarkProtocol, MAX_BYTES)


def _canonical(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _canonical(part) for name, part in value.items()}
    return [_canonical(part) for part in value] if isinstance(value, list) else canonical(value)
