"""An experiment: a TOML file that says streams × algorithms × threshold grid × seeds."""

import tomllib
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from benchmark.algorithm_names import GRID_OFFSETS, find_algorithm, make_algorithm, parameter_names
from benchmark.nearest import unknown

FOLDER = Path(__file__).parent / "experiments"
GRID = "grid"
OF_STREAM = "stream"
"""As the value of `global_dim`: what the stream has."""

Count = Annotated[int, Field(ge=1)]
Seed = Annotated[int, Field(ge=0, le=2**63 - 1)]
Offset = Annotated[float, Field(ge=0)]
Gamma = Annotated[float, Field(ge=1)]


class Strict(BaseModel):
    """A table in which every field must be known."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class LogSpaced(Strict):
    """`points` thresholds from `start` to `stop`, logarithmically spaced."""

    start: Annotated[float, Field(gt=0)]
    stop: Annotated[float, Field(gt=0)]
    points: Count

    def values(self) -> list[float]:
        """Return the thresholds."""
        import numpy as np

        return [float(each) for each in np.logspace(np.log10(self.start), np.log10(self.stop), self.points)]


class Profile(Strict):
    """How thoroughly to run: seeds (a number of them, or a list) and thresholds.

    `grid` is γ-1 for the asynchronous methods and D for the synchronous one; `gammas` are further γ.
    """

    seeds: Count | list[Seed]
    grid: LogSpaced | list[Offset] = []
    gammas: list[Gamma] = []

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

    dataset: str | None = None
    simulated: Literal["uniform", "non-uniform"] | None = None
    steps: Count = 30_000
    clients: Count = 1_000
    arms: Count = 25
    dimension: Count | None = None
    global_dim: list[Count] | None = None
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
        return self


class AlgorithmEntry(BaseModel):
    """An algorithm by name, and its hyper-parameters: a value, a list of values, or the word `grid`."""

    model_config = ConfigDict(extra="allow", frozen=True)
    name: str

    @cached_property
    def parameters(self) -> dict[str, Any]:
        """Return the hyper-parameters as written."""
        return dict(self.model_extra or {})

    @model_validator(mode="after")
    def _known(self) -> "AlgorithmEntry":
        allowed = parameter_names(find_algorithm(self.name))
        for name, value in self.parameters.items():
            if name not in allowed:
                raise unknown(f"parameter of {self.name}", name, allowed)
            if value == GRID and name not in GRID_OFFSETS:
                raise ValueError(f"{name} is 'grid'; allowed for {' and '.join(GRID_OFFSETS)} only")
        return self


class Experiment(Strict):
    """All there is to say about a figure or study."""

    name: str
    title: str
    description: str = ""
    streams: Annotated[list[Stream], Field(min_length=1)]
    algorithms: Annotated[list[AlgorithmEntry], Field(min_length=1)]
    profiles: Annotated[dict[str, Profile], Field(min_length=1)]

    def profile(self, name: str) -> Profile:
        """Return a profile by name."""
        if name not in self.profiles:
            raise unknown(f"profile of {self.name}", name, self.profiles)
        return self.profiles[name]

    @model_validator(mode="after")
    def _thresholds_in_range(self) -> "Experiment":
        for entry in self.algorithms:
            for profile in self.profiles.values():
                for values in expanded(entry.parameters, profile):
                    if values.get("global_dim") == OF_STREAM:
                        values["global_dim"] = 1
                    make_algorithm(entry.name, values)
        return self


def expanded(parameters: Mapping[str, Any], profile: Profile) -> list[dict[str, Any]]:
    """Return every combination of the values of the parameters, `grid` being what the profile says."""
    combinations: list[dict[str, Any]] = [{}]
    for name, value in parameters.items():
        values = profile.thresholds(name) if value == GRID else value if isinstance(value, list | tuple) else [value]
        combinations = [{**each, name: one} for each in combinations for one in values]
    return combinations


def experiment_names() -> list[str]:
    """Return the names of the experiments that are shipped."""
    return sorted(path.stem for path in FOLDER.glob("*.toml"))


def load_experiment(name: str) -> Experiment:
    """Read a shipped experiment by name, or any by the path of its TOML file."""
    path = Path(name) if name.endswith(".toml") else FOLDER / f"{name}.toml"
    if not path.is_file():
        raise unknown("experiment", name, experiment_names())
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} is not TOML: {error}") from None
    try:
        return Experiment.model_validate({**content, "name": path.stem})
    except ValidationError as error:
        raise ValueError(f"{path}: {_one_line(error)}") from None


def _one_line(error: ValidationError) -> str:
    """Name the field, its value and what is allowed, of the first mistake found."""
    # Of a field with two allowed types pydantic tells both mistakes: the deeper one is the one that is meant.
    first = max(error.errors(), key=lambda each: len(each["loc"]))
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
