"""An experiment: a TOML file that declares streams × algorithms × threshold grid × seeds."""

import math
import re
import tomllib
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from algorithms.method import Front
from benchmark.plan.algorithm_names import declaration_of, make_algorithm
from benchmark.plan.unknown_name import unknown_name
from data_pipelines.prepare.prepared import DEFAULT_DIMENSION, MAX_DIMENSION
from data_pipelines.support.messages import one_line

FOLDER = Path(__file__).parents[1] / "experiments"
GRID = "grid"
OF_STREAM = "stream"
"""As the value of `global_dim`: use that of the stream."""

# An experiment file may come from an untrusted source: its sizes are limited before anything is allocated.
MAX_BYTES = 1_000_000
MAX_POINTS = 10_000
MAX_SEEDS = 100_000
MAX_RUNS = 1_000_000
MAX_ARMS = 10_000
MAX_CLIENTS = 100_000_000
MAX_POOLED = 2**31 - 1
"""Steps times arms. Pools hold item rows as 32-bit integers."""

NAME = re.compile(r"\w[\w.-]{0,99}")
"""Names become folder names: no separators and no leading dot."""

Count = Annotated[int, Field(ge=1, le=MAX_POOLED)]
Seed = Annotated[int, Field(ge=0, le=2**63 - 1)]
Offset = Annotated[float, Field(ge=0)]
Gamma = Annotated[float, Field(ge=1)]
Number = Annotated[float, Field(ge=-math.inf)]
"""Any number, infinity included, but not NaN."""

Threshold = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Dimension = Annotated[int, Field(ge=1, le=MAX_DIMENSION)]
Values = Annotated[list[Offset], Field(max_length=MAX_POINTS)]


class Strict(BaseModel):
    """A table in which every field must be known and of the declared type: "3" and true are not numbers."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class LogSpaced(Strict):
    """`points` thresholds from `start` to `stop`, logarithmically spaced."""

    start: Threshold
    stop: Threshold
    points: Annotated[int, Field(ge=1, le=MAX_POINTS)]

    def values(self) -> list[float]:
        """Return the thresholds."""
        import numpy as np

        return [float(value) for value in np.logspace(np.log10(self.start), np.log10(self.stop), self.points)]


class Profile(Strict):
    """The size of a sweep: seeds (their number, or a list) and thresholds.

    `grid` is turned into thresholds by each method: it holds γ-1, or D. `values` are additional values
    by parameter, such as `values.gamma = [1, inf]`; `gammas` is an older way to write those of γ.
    """

    seeds: Annotated[int, Field(ge=1, le=MAX_SEEDS)] | Annotated[list[Seed], Field(min_length=1, max_length=MAX_SEEDS)]
    grid: LogSpaced | Values = []
    gammas: Annotated[list[Gamma], Field(max_length=MAX_POINTS)] = []
    values: Annotated[dict[str, Annotated[list[Number], Field(max_length=MAX_POINTS)]], Field(max_length=100)] = {}

    def seed_list(self) -> list[int]:
        """Return the seeds."""
        return list(range(self.seeds)) if isinstance(self.seeds, int) else list(dict.fromkeys(self.seeds))

    def thresholds(self, front: Front) -> list[float]:
        """Return the values of a method's front: those that the grid represents, and the additional ones."""
        grid = self.grid.values() if isinstance(self.grid, LogSpaced) else self.grid
        further = [*self.values.get(front.parameter, []), *(self.gammas if front.parameter == "gamma" else [])]
        return sorted({*map(front.from_offset, grid), *further})


class Stream(Strict):
    """A prepared data set (`dataset`) or a simulation (`simulated`), with its options."""

    dataset: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$")] | None = None
    simulated: Literal["uniform", "non-uniform"] | None = None
    steps: Count = 30_000
    clients: Annotated[int, Field(ge=1, le=MAX_CLIENTS)] = 1_000
    arms: Annotated[int, Field(ge=1, le=MAX_ARMS)] = 25
    dimension: Dimension | None = None
    global_dim: Annotated[list[Dimension], Field(min_length=1, max_length=MAX_DIMENSION)] | None = None
    noise: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.1
    table: Count | None = None
    scaling: Literal["standard", "pca", "unit"] = "standard"
    positive: Literal["anywhere", "first"] = "anywhere"

    @model_validator(mode="after")
    def _one_kind(self) -> "Stream":
        if (self.dataset is None) == (self.simulated is None):
            raise ValueError("exactly one of dataset and simulated is required")
        others = {"scaling", "positive"} if self.simulated else {"steps", "clients", "global_dim", "noise", "table"}
        if wrong := sorted(others & self.model_fields_set):
            raise ValueError(f"{wrong[0]} cannot be combined with {'simulated' if self.simulated else 'dataset'}")
        if self.steps * self.arms > MAX_POOLED:
            raise ValueError(f"steps × arms must be at most {MAX_POOLED:,}, got {self.steps * self.arms:,}")
        dimension = self.dimension or DEFAULT_DIMENSION
        if too_large := [size for size in self.global_dim or [] if size > dimension]:
            raise ValueError(f"global_dim must be from 1 to dimension ({dimension}), got {too_large[0]}")
        return self


class AlgorithmEntry(BaseModel):
    """The name of an algorithm, and its hyper-parameters: each a value, a list of values, or the word `grid`."""

    model_config = ConfigDict(extra="allow", frozen=True, strict=True)
    name: str

    @cached_property
    def parameters(self) -> dict[str, Any]:
        """The hyper-parameters as written in the file."""
        return dict(self.model_extra or {})

    @property
    def front(self) -> Front | None:
        """What a grid of the algorithm runs through."""
        return declaration_of(self.name).front

    @model_validator(mode="after")
    def _known(self) -> "AlgorithmEntry":
        if ":" in self.name:
            raise ValueError(
                f"name must be an installed algorithm, got {self.name!r}; "
                "load your own class with --algorithm module:Class"
            )
        known_parameters = declaration_of(self.name).parameters
        for name, value in self.parameters.items():
            if name not in known_parameters:
                raise unknown_name(f"parameter of {self.name}", name, known_parameters)
            if value == GRID and (self.front is None or name != self.front.parameter):
                which = "no parameter" if self.front is None else f"only {self.front.parameter}"
                raise ValueError(f"{name} must be a value or a list, got 'grid'; {which} of {self.name} has a grid")
        return self


class Experiment(Strict):
    """An experiment: a figure or a study.

    `effects_of` names the options of streams or algorithms whose effect a study measures; the value that comes first in
    the file is the baseline of the comparison.
    """

    name: str
    title: Annotated[str, Field(min_length=1, max_length=200)]
    description: Annotated[str, Field(max_length=4000)] = ""
    streams: Annotated[list[Stream], Field(min_length=1, max_length=1000)]
    algorithms: Annotated[list[AlgorithmEntry], Field(min_length=1, max_length=1000)]
    profiles: Annotated[dict[str, Profile], Field(min_length=1, max_length=100)]
    effects_of: Annotated[list[str], Field(max_length=10)] = []

    def profile(self, name: str) -> Profile:
        """Return a profile by name."""
        if name not in self.profiles:
            raise unknown_name(f"profile of {self.name}", name, self.profiles)
        return self.profiles[name]

    def baseline(self) -> dict[str, str]:
        """Return, as text, the baseline values of `effects_of`: the first ones in the file."""
        options = {**self.streams[0].model_dump(), **self.algorithms[0].parameters}
        first_values = {name: options[name] for name in self.effects_of}
        return {name: str(value[0] if isinstance(value, list) else value) for name, value in first_values.items()}

    @model_validator(mode="after")
    def _known_effects(self) -> "Experiment":
        options = {*Stream.model_fields, *self.algorithms[0].parameters}
        for name in self.effects_of:
            if name not in options:
                raise unknown_name("effects_of", name, options)
        return self

    @model_validator(mode="after")
    def _thresholds_in_range(self) -> "Experiment":
        for name, profile in self.profiles.items():
            if (runs := self._runs(profile)) > MAX_RUNS:
                raise ValueError(f"profile {name} must have at most {MAX_RUNS:,} runs, got {runs:,}")
            for entry in self.algorithms:
                if not combinations(entry.parameters, profile, entry.front):
                    raise ValueError(f"{entry.name} has no parameter values in profile {name}; add a grid or a list")
                for values in expanded(entry.parameters, profile, entry.front):
                    if values.get("global_dim") == OF_STREAM:
                        values["global_dim"] = 1
                    make_algorithm(entry.name, values)
        return self

    def _runs(self, profile: Profile) -> int:
        """Count the runs of a profile without creating them."""
        streams = sum(len(stream.global_dim or [None]) for stream in self.streams)
        seeds = profile.seeds if isinstance(profile.seeds, int) else len(profile.seeds)
        return streams * seeds * sum(combinations(entry.parameters, profile, entry.front) for entry in self.algorithms)


def combinations(parameters: Mapping[str, Any], profile: Profile, front: Front | None) -> int:
    """Return the number of combinations that `expanded` returns."""
    return math.prod(len(_values(value, profile, front)) for value in parameters.values())


def expanded(parameters: Mapping[str, Any], profile: Profile, front: Front | None) -> list[dict[str, Any]]:
    """Return every combination of parameter values; `grid` is replaced by the profile's values of the front."""
    combined: list[dict[str, Any]] = [{}]
    for name, value in parameters.items():
        choices = _values(value, profile, front)
        combined = [{**combination, name: choice} for combination in combined for choice in choices]
    return combined


def _values(value: Any, profile: Profile, front: Front | None) -> list[Any]:
    """Return the values of one parameter: those of the grid, those of a list, or a single value."""
    if isinstance(value, str) and value == GRID and front is not None:
        return profile.thresholds(front)
    return list(value) if isinstance(value, list | tuple) else [value]


def experiment_names() -> list[str]:
    """Return the names of the built-in experiments."""
    return sorted(path.stem for path in FOLDER.glob("*.toml"))


def shipped_data_sets() -> list[str]:
    """Return the names of the data sets that the shipped experiments use."""
    files = (tomllib.loads(_text(path)) for path in FOLDER.glob("*.toml"))
    return sorted({stream["dataset"] for file in files for stream in file["streams"] if "dataset" in stream})


def load_experiment(name: str) -> Experiment:
    """Read a built-in experiment by name, or any experiment by the path of its TOML file."""
    path = Path(name) if name.endswith(".toml") else FOLDER / f"{name}.toml"
    if not path.is_file() and name.endswith(".toml"):
        raise ValueError(one_line(f"experiment {name!r}: no such file in {path.absolute().parent}"))
    if not path.is_file():
        raise unknown_name("experiment", name, experiment_names())
    if not NAME.fullmatch(path.stem):
        raise ValueError(
            f"the file name of an experiment must be at most 100 letters, digits, _, - and ., "
            f"and start with a letter, digit or _, got {name!r}"
        )
    try:
        content = tomllib.loads(_text(path))
    except (ValueError, RecursionError) as error:
        raise ValueError(one_line(f"{path} is not valid TOML: {error}")) from None
    try:
        return Experiment.model_validate({**content, "name": path.stem})
    except ValidationError as error:
        raise ValueError(one_line(f"{path}: {_one_line(error)}")) from None


def _text(path: Path) -> str:
    with path.open("rb") as file:
        content = file.read(MAX_BYTES + 1)
    if len(content) > MAX_BYTES:
        raise ValueError(f"it is larger than {MAX_BYTES:,} bytes")
    return content.decode()


def _one_line(error: ValidationError) -> str:
    """Return the field, its value and what is expected, for the most likely of the mistakes."""
    # For a field that accepts two types, pydantic reports an error for each: the deeper one is the relevant one.
    # An unknown field is reported before a missing one: they may be the same field, misspelt.
    first = max(error.errors(), key=lambda details: (details["type"] == "extra_forbidden", len(details["loc"])))
    kinds = ("constrained", "list[", "LogSpaced")
    field = ".".join(str(part) for part in first["loc"] if not str(part).startswith(kinds)) or "the file"
    if first["type"] == "missing":
        return f"required field {field} is missing"
    if first["type"] == "extra_forbidden":
        return f"unknown field {field}, got {first['input']!r}; expected one of: {_known_fields(first['loc'])}"
    if first["type"] == "value_error":
        return f"{field}: {first['ctx']['error']}"
    rule = re.sub(r"^\w+ should ", "must ", first["msg"])
    return f"{field} {rule[0].lower()}{rule[1:]}, got {first['input']!r}"


def _known_fields(location: tuple[int | str, ...]) -> str:
    models: dict[str, type[BaseModel]] = {"streams": Stream, "profiles": Profile}
    model = models.get(str(location[0]), Experiment) if len(location) > 1 else Experiment
    model = LogSpaced if "grid" in location else model
    return ", ".join(name for name in model.model_fields if name != "name")
