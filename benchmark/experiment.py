"""An experiment: a TOML file that says streams × algorithms × threshold grid × seeds."""

import math
import re
import tomllib
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from benchmark.algorithm_names import GRID_OFFSETS, find_algorithm, make_algorithm, parameter_names
from benchmark.nearest import unknown
from data_pipelines.messages import one_line
from data_pipelines.prepared import DEFAULT_DIMENSION, MOST_DIMENSIONS

FOLDER = Path(__file__).parent / "experiments"
GRID = "grid"
OF_STREAM = "stream"
"""As the value of `global_dim`: what the stream has."""

# An experiment file may come from anybody: what it asks for is bounded before anything is made of it.
MOST_BYTES = 1_000_000
MOST_POINTS = 10_000
MOST_SEEDS = 100_000
MOST_RUNS = 1_000_000
MOST_ARMS = 10_000
MOST_CLIENTS = 100_000_000
MOST_POOLED = 2**31 - 1
"""Steps times arms: pools hold rows of items as 32 bits."""

NAME = re.compile(r"\w[\w.-]{0,99}")
"""Names become folders: no separators, and no dot in front."""

Count = Annotated[int, Field(ge=1, le=MOST_POOLED)]
Seed = Annotated[int, Field(ge=0, le=2**63 - 1)]
Offset = Annotated[float, Field(ge=0)]
Gamma = Annotated[float, Field(ge=1)]
Threshold = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Dimension = Annotated[int, Field(ge=1, le=MOST_DIMENSIONS)]
Values = Annotated[list[Offset], Field(max_length=MOST_POINTS)]


class Strict(BaseModel):
    """A table in which every field must be known and of its own type: "3" and true are no numbers."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class LogSpaced(Strict):
    """`points` thresholds from `start` to `stop`, logarithmically spaced."""

    start: Threshold
    stop: Threshold
    points: Annotated[int, Field(ge=1, le=MOST_POINTS)]

    def values(self) -> list[float]:
        """Return the thresholds."""
        import numpy as np

        return [float(each) for each in np.logspace(np.log10(self.start), np.log10(self.stop), self.points)]


class Profile(Strict):
    """How thoroughly to run: seeds (a number of them, or a list) and thresholds.

    `grid` is γ-1 for the asynchronous methods and D for the synchronous one; `gammas` are further γ.
    """

    seeds: (
        Annotated[int, Field(ge=1, le=MOST_SEEDS)] | Annotated[list[Seed], Field(min_length=1, max_length=MOST_SEEDS)]
    )
    grid: LogSpaced | Values = []
    gammas: Annotated[list[Gamma], Field(max_length=MOST_POINTS)] = []

    def seed_list(self) -> list[int]:
        """Return the seeds."""
        return list(range(self.seeds)) if isinstance(self.seeds, int) else list(dict.fromkeys(self.seeds))

    def thresholds(self, parameter: str) -> list[float]:
        """Return the values of `gamma`, or of `threshold`, that the grid stands for."""
        grid = self.grid.values() if isinstance(self.grid, LogSpaced) else self.grid
        values = [GRID_OFFSETS[parameter] + each for each in grid]
        return sorted({*values, *(self.gammas if parameter == "gamma" else [])})


class Stream(Strict):
    """A prepared data set (`dataset`), or a simulation (`simulated`) with its settings."""

    dataset: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$")] | None = None
    simulated: Literal["uniform", "non-uniform"] | None = None
    steps: Count = 30_000
    clients: Annotated[int, Field(ge=1, le=MOST_CLIENTS)] = 1_000
    arms: Annotated[int, Field(ge=1, le=MOST_ARMS)] = 25
    dimension: Dimension | None = None
    global_dim: Annotated[list[Dimension], Field(min_length=1, max_length=MOST_DIMENSIONS)] | None = None
    noise: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.1
    table: Count | None = None
    scaling: Literal["standard", "pca", "unit"] = "standard"
    positive: Literal["anywhere", "first"] = "anywhere"

    @model_validator(mode="after")
    def _one_kind(self) -> "Stream":
        if (self.dataset is None) == (self.simulated is None):
            raise ValueError("allowed is one of dataset and simulated")
        others = {"scaling", "positive"} if self.simulated else {"steps", "clients", "global_dim", "noise", "table"}
        if wrong := sorted(others & self.model_fields_set):
            raise ValueError(f"{wrong[0]} does not go with {'simulated' if self.simulated else 'dataset'}")
        if self.steps * self.arms > MOST_POOLED:
            raise ValueError(f"steps times arms is {self.steps * self.arms:,}; allowed are at most {MOST_POOLED:,}")
        dimension = self.dimension or DEFAULT_DIMENSION
        if wide := [each for each in self.global_dim or [] if each > dimension]:
            raise ValueError(f"global_dim is {wide[0]}; allowed are 1 to dimension, {dimension}")
        return self


class AlgorithmEntry(BaseModel):
    """An algorithm by name, and its hyper-parameters: a value, a list of values, or the word `grid`."""

    model_config = ConfigDict(extra="allow", frozen=True, strict=True)
    name: str

    @cached_property
    def parameters(self) -> dict[str, Any]:
        """Return the hyper-parameters as written."""
        return dict(self.model_extra or {})

    @model_validator(mode="after")
    def _known(self) -> "AlgorithmEntry":
        if ":" in self.name:
            raise ValueError(
                f"name is {self.name!r}; allowed are installed algorithms: "
                "code comes in by --algorithm module:Class only, never by a file"
            )
        allowed = parameter_names(find_algorithm(self.name))
        for name, value in self.parameters.items():
            if name not in allowed:
                raise unknown(f"parameter of {self.name}", name, allowed)
            if value == GRID and name not in GRID_OFFSETS:
                raise ValueError(f"{name} is 'grid'; allowed for {' and '.join(GRID_OFFSETS)} only")
        return self


class Experiment(Strict):
    """All there is to say about a figure or study.

    `effects_of` names the settings of streams or algorithms whose effect a study is about; what stands first in the
    file is what the others are compared with.
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
            raise unknown(f"profile of {self.name}", name, self.profiles)
        return self.profiles[name]

    def baseline(self) -> dict[str, str]:
        """Return, as text, what the other values of `effects_of` are compared with: the first in the file."""
        given = {**self.streams[0].model_dump(), **self.algorithms[0].parameters}
        first = {name: given[name] for name in self.effects_of}
        return {name: str(value[0] if isinstance(value, list) else value) for name, value in first.items()}

    @model_validator(mode="after")
    def _known_effects(self) -> "Experiment":
        known = {*Stream.model_fields, *self.algorithms[0].parameters}
        for name in self.effects_of:
            if name not in known:
                raise unknown("effects_of", name, known)
        return self

    @model_validator(mode="after")
    def _thresholds_in_range(self) -> "Experiment":
        for name, profile in self.profiles.items():
            if (runs := self._runs(profile)) > MOST_RUNS:
                raise ValueError(f"profile {name} has {runs:,} runs; allowed are at most {MOST_RUNS:,}")
            for entry in self.algorithms:
                if not combinations(entry.parameters, profile):
                    raise ValueError(f"{entry.name} has no values to run with in profile {name}; allowed are some")
                for values in expanded(entry.parameters, profile):
                    if values.get("global_dim") == OF_STREAM:
                        values["global_dim"] = 1
                    make_algorithm(entry.name, values)
        return self

    def _runs(self, profile: Profile) -> int:
        """Count the runs of a profile without making them."""
        streams = sum(len(stream.global_dim or [None]) for stream in self.streams)
        seeds = profile.seeds if isinstance(profile.seeds, int) else len(profile.seeds)
        return streams * seeds * sum(combinations(entry.parameters, profile) for entry in self.algorithms)


def combinations(parameters: Mapping[str, Any], profile: Profile) -> int:
    """Return how many combinations `expanded` has."""
    return math.prod(len(_values(name, value, profile)) for name, value in parameters.items())


def expanded(parameters: Mapping[str, Any], profile: Profile) -> list[dict[str, Any]]:
    """Return every combination of the values of the parameters, `grid` being what the profile says."""
    found: list[dict[str, Any]] = [{}]
    for name, value in parameters.items():
        found = [{**each, name: one} for each in found for one in _values(name, value, profile)]
    return found


def _values(name: str, value: Any, profile: Profile) -> list[Any]:
    """Return the values of one parameter: those of the grid, those of a list, or the one there is."""
    if isinstance(value, str) and value == GRID:
        return profile.thresholds(name)
    return list(value) if isinstance(value, list | tuple) else [value]


def experiment_names() -> list[str]:
    """Return the names of the experiments that are shipped."""
    return sorted(path.stem for path in FOLDER.glob("*.toml"))


def load_experiment(name: str) -> Experiment:
    """Read a shipped experiment by name, or any by the path of its TOML file."""
    path = Path(name) if name.endswith(".toml") else FOLDER / f"{name}.toml"
    if not path.is_file() and name.endswith(".toml"):
        raise ValueError(one_line(f"experiment is {name!r}; there is no such file in {path.absolute().parent}"))
    if not path.is_file():
        raise unknown("experiment", name, experiment_names())
    if not NAME.fullmatch(path.stem):
        raise ValueError(f"experiment is {name!r}; allowed in a file's name are letters, digits, _, - and . inside")
    try:
        content = tomllib.loads(_text(path))
    except (ValueError, RecursionError) as error:
        raise ValueError(one_line(f"{path} is not TOML: {error}")) from None
    try:
        return Experiment.model_validate({**content, "name": path.stem})
    except ValidationError as error:
        raise ValueError(one_line(f"{path}: {_one_line(error)}")) from None


def _text(path: Path) -> str:
    with path.open("rb") as file:
        content = file.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise ValueError(f"it has more than {MOST_BYTES:,} bytes")
    return content.decode()


def _one_line(error: ValidationError) -> str:
    """Name the field, its value and what is allowed, of the first mistake found."""
    # Of a field with two allowed types pydantic tells both mistakes: the deeper one is the one that is meant.
    # A field that is not known is told before one that is missing: it may be the same one, misspelt.
    first = max(error.errors(), key=lambda each: (each["type"] == "extra_forbidden", len(each["loc"])))
    kinds = ("constrained", "list[", "LogSpaced")
    field = ".".join(str(part) for part in first["loc"] if not str(part).startswith(kinds)) or "the file"
    if first["type"] == "missing":
        return f"{field} is missing; it is required"
    if first["type"] == "extra_forbidden":
        return f"{field} is {first['input']!r}; allowed are known fields only ({_known_fields(first['loc'])})"
    if first["type"] == "value_error":
        return f"{field}: {first['ctx']['error']}"
    return f"{field} is {first['input']!r}; allowed: {first['msg'][0].lower()}{first['msg'][1:]}"


def _known_fields(place: tuple[int | str, ...]) -> str:
    models: dict[str, type[BaseModel]] = {"streams": Stream, "profiles": Profile}
    model = models.get(str(place[0]), Experiment) if len(place) > 1 else Experiment
    model = LogSpaced if "grid" in place else model
    return ", ".join(name for name in model.model_fields if name != "name")
