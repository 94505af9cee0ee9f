"""An experiment: a TOML file that declares streams × methods × threshold grid × seeds."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from functools import cache, cached_property
from itertools import product
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

from algorithms.method import Front
from algorithms.registry import built_in_methods
from benchmark.plan.method_names import make_method, method_info
from data_pipelines.prepare.prepared import MAX_DIMENSION, NotPreparedError
from data_pipelines.stream_spec import DATASET, SIMULATED, SPECS, DatasetSpec, StreamSpec, Strict, TaggedSpec
from data_pipelines.support.messages import (
    complaint,
    did_you_mean,
    load_toml,
    most_likely,
    one_line,
    read_toml,
    shown,
    unknown_name,
    without_controls,
)

FOLDER = Path(__file__).parents[1] / "experiments"
GRID = "grid"
OF_STREAM = "stream"
"""A value of `global_dim` that stands for that of the stream."""

# An experiment file may come from an untrusted source: its sizes are limited before anything is read or planned.
MAX_BYTES = 1_000_000
MAX_POINTS = 10_000
MAX_SEEDS = 100_000
MAX_RUNS = 1_000_000

QUICK = "quick"
"""The profile of experiments that are run if the user names none."""

ALL_CONTENDERS = "*"
MAX_SHOWN = 100
"""Characters of a value in an error message: a whole table is not worth reading."""

NAME = re.compile(r"\w[\w.-]{0,99}")
"""Names become folder names: no separators and no leading dot."""

RESERVED = ("overview", "default")
"""Names of experiments that MLflow's pages have: the lines of all experiments, and MLflow's own first one."""

Seed = Annotated[int, Field(ge=0, le=2**63 - 1)]
Offset = Annotated[float, Field(ge=0)]
Gamma = Annotated[float, Field(ge=1)]
Number = Annotated[float, Field(ge=-math.inf)]
"""Any number, infinity included, but not NaN."""

Threshold = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Values = Annotated[list[Offset], Field(max_length=MAX_POINTS)]
ValuesByParameter = Annotated[dict[str, Annotated[list[Number], Field(max_length=MAX_POINTS)]], Field(max_length=100)]


Grids = Mapping[str, Sequence[Any]]
"""The values of each parameter."""


class LogSpaced(Strict):
    """`points` thresholds from `start` to `stop`, logarithmically spaced."""

    start: Threshold
    stop: Threshold
    points: Annotated[int, Field(ge=1, le=MAX_POINTS)]

    def values(self) -> list[float]:
        """Return the thresholds."""
        import numpy as np

        return [float(value) for value in np.logspace(np.log10(self.start), np.log10(self.stop), self.points)]


Seeds = Annotated[int, Field(ge=1, le=MAX_SEEDS)] | Annotated[list[Seed], Field(min_length=1, max_length=MAX_SEEDS)]
"""Their number, or a list."""


class MoreSeeds(Strict):
    """More `seeds` for the settings that a verdict needs: the values `at` the front of a method, by its name."""

    seeds: Seeds
    at: Annotated[dict[str, Annotated[list[Number], Field(max_length=MAX_POINTS)]], Field(min_length=1)]

    def concern(self, method: str, parameters: Mapping[str, Any]) -> bool:
        """Return whether a setting of a method gets these seeds."""
        front = method_info(method).front
        return front is not None and method in self.at and parameters.get(front.parameter) in self.at[method]


class Profile(Strict):
    """The size of a sweep: seeds (their number, or a list) and thresholds.

    `grid` is turned into thresholds by each method: it holds γ-1, or D. `values` are additional values
    by parameter, such as `values.gamma = [1, inf]`; `gammas` is an older way to write those of γ. `more` are seeds
    in place of `seeds` for some settings.
    """

    seeds: Seeds
    more: MoreSeeds | None = None
    grid: LogSpaced | Values = Field(default_factory=list)
    gammas: Annotated[list[Gamma], Field(max_length=MAX_POINTS)] = Field(default_factory=list)
    values: ValuesByParameter = Field(default_factory=dict)

    def seed_list(self) -> list[int]:
        """Return the seeds of all settings without more of them."""
        return _listed(self.seeds)

    def more_seeds(self) -> list[int]:
        """Return the seeds of the settings with more of them."""
        return _listed(self.more.seeds) if self.more else []

    def thresholds(self, front: Front) -> list[float]:
        """Return the values of a method's front: those that the grid represents, and the additional ones."""
        grid = self.grid.values() if isinstance(self.grid, LogSpaced) else self.grid
        further = [*self.values.get(front.parameter, []), *(self.gammas if front.parameter == "gamma" else [])]
        return sorted({*map(front.from_offset, grid), *further})

    def restricted(self, only: Mapping[str, list[float]]) -> "Profile":
        """Return the profile of a stream with `only` these values, by parameter; without any, the profile itself."""
        return self.model_copy(update={"grid": [], "gammas": [], "values": dict(only)}) if only else self


def _listed(seeds: int | list[int]) -> list[int]:
    return list(range(seeds)) if isinstance(seeds, int) else list(dict.fromkeys(seeds))


def _specifications(entry: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the tables of the streams that an entry of a file stands for: one per value of `global_dim`."""
    if (DATASET in entry) == (SIMULATED in entry):
        raise ValueError("exactly one of dataset and simulated is required")
    dims = entry.get("global_dim")
    if not isinstance(dims, list):
        return [{**entry}]
    if not 1 <= len(dims) <= MAX_DIMENSION:
        raise ValueError(f"global_dim must have from 1 to {MAX_DIMENSION} values, got {len(dims)}")
    return [{**entry, "global_dim": global_dim} for global_dim in dims]


ENTRY_OPTIONS = ("fallback", "optional", "only")
"""Fields of an entry that are not options of its streams."""


class Fallback(Strict):
    """The stream that takes the place of another whose data are not available, and the notice to show with it."""

    label: Annotated[str, Field(min_length=1, max_length=80), AfterValidator(without_controls)]
    stream: DatasetSpec

    @model_validator(mode="before")
    @classmethod
    def _from_table(cls, table: Any) -> Any:
        """In a file, the label stands beside the fields of the stream."""
        if not isinstance(table, dict) or "stream" in table:
            return table
        stream = {key: table[key] for key in table if key != "label"}
        return {"stream": stream, **{key: table[key] for key in table if key == "label"}}


class StreamEntry(Strict):
    """The streams of one entry of a file, and what happens if the data are not available.

    `fallback` is used instead; an `optional` entry is left out. `only` holds the thresholds of these streams, by
    parameter, in place of those of the profile: a method with a grid is run at these, and not at all if its parameter
    is not among them.
    """

    streams: list[TaggedSpec]
    fallback: Fallback | None = None
    optional: bool = False
    only: ValuesByParameter = Field(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def _from_table(cls, entry: Any) -> Any:
        if not isinstance(entry, dict):
            raise ValueError(f"a stream must be a table, got {entry!r}")
        if "fallback" in entry and DATASET not in entry:
            raise ValueError("fallback must belong to a data set, got a simulation")
        options = {key: entry[key] for key in ENTRY_OPTIONS if key in entry}
        return {"streams": _specifications({key: entry[key] for key in entry if key not in options}), **options}

    def available(self) -> list[StreamSpec]:
        """Return the streams; the fallback where the data are missing or a stand-in, but those of the fallback real."""
        fallback = self.fallback
        if fallback is None or _has_real_data(self.streams[0]) or not _has_real_data(fallback.stream):
            return [*self.streams]
        return [fallback.stream]

    @property
    def names(self) -> set[str]:
        """The names of all streams, including the fallback's."""
        fallback = [self.fallback.stream] if self.fallback else []
        return {stream.name for stream in (*self.streams, *fallback)}


def _has_real_data(stream: StreamSpec) -> bool:
    try:
        return stream.source != "stand-in"
    except NotPreparedError:
        return False


class MethodEntry(BaseModel):
    """The name of a method, and its hyper-parameters: each a value, a list of values, or the word `grid`."""

    model_config = ConfigDict(extra="allow", frozen=True, strict=True)
    name: str

    @cached_property
    def parameters(self) -> dict[str, Any]:
        """The hyper-parameters as written in the file."""
        return dict(self.model_extra or {})

    @property
    def front(self) -> Front | None:
        """The parameter that a grid of the method varies."""
        return method_info(self.name).front

    @model_validator(mode="after")
    def _known(self) -> "MethodEntry":
        if ":" in self.name:
            raise ValueError(
                f"name must be an installed method, got {self.name!r}; load your own class with --method module:Class"
            )
        known_parameters = method_info(self.name).parameters
        for name, value in self.parameters.items():
            if name not in known_parameters:
                raise unknown_name(f"parameter of {self.name}", name, known_parameters)
            if value == GRID and (self.front is None or name != self.front.parameter):
                which = "no parameter" if self.front is None else f"only {self.front.parameter}"
                raise ValueError(f"{name} must be a value or a list, got 'grid'; {which} of {self.name} has a grid")
        return self


def _named(entry: Any) -> list[Any]:
    """Return an entry of a file; `name = "*"` stands for every contender, at the values of its front."""
    if not isinstance(entry, dict) or entry.get("name") != ALL_CONTENDERS:
        return [entry]
    fronts = {name: each.front for name, each in built_in_methods().items() if each.role == "contender"}
    return [
        {**entry, "name": name, **({front.parameter: [*front.grid]} if front else {})} for name, front in fronts.items()
    ]


Words = Annotated[str, Field(min_length=1, max_length=80)]
"""The value of an option in words."""


@dataclass(frozen=True)
class ExperimentInfo:
    """What the store records of an experiment.

    `tags` are those of all its runs. Settings of an experiment that `is_compared` are in the summary of a sweep:
    a study measures effects instead, and tuned settings are compared in the report.
    """

    name: str
    title: str
    description: str = ""
    tags: Mapping[str, str] = dataclass_field(default_factory=dict)
    is_compared: bool = True


class Experiment(Strict):
    """An experiment: a figure or a study.

    `effects_of` names the options of streams or algorithms whose effect a study measures; the value that comes first in
    the file is the baseline of the comparison. `words` has the texts of reports for values of such options, as they are
    written in TOML: `words.first_maximum.true`. `is_compared` is false for a study whose methods are not compared.
    `counts` is the communication that its figures show: all transfers that are sent, as in the paper, or those that are
    needed for the same choices. `of_the_paper` is the figure or table that it reproduces.
    """

    name: str
    title: Annotated[str, Field(min_length=1, max_length=200), AfterValidator(without_controls)]
    description: Annotated[str, Field(max_length=4000), AfterValidator(without_controls)] = ""
    stream_entries: Annotated[
        list[StreamEntry],
        Field(min_length=1, max_length=1000, alias="streams"),
    ]
    algorithms: Annotated[list[MethodEntry], Field(min_length=1, max_length=1000)]
    profiles: Annotated[dict[str, Profile], Field(min_length=1, max_length=100)]
    effects_of: Annotated[list[str], Field(max_length=10)] = Field(default_factory=list)
    words: Annotated[dict[str, dict[str, Words]], Field(max_length=10)] = Field(default_factory=dict)
    counts: Literal["sent", "needed"] = "sent"
    of_the_paper: Annotated[str, Field(max_length=40)] = ""
    is_compared: bool = True

    @model_validator(mode="before")
    @classmethod
    def _all_contenders(cls, content: Any) -> Any:
        entries = content.get("algorithms") if isinstance(content, dict) else None
        if not isinstance(entries, list):
            return content
        return {**content, "algorithms": [each for entry in entries for each in _named(entry)]}

    @property
    def streams(self) -> list[StreamSpec]:
        """All streams, in the order of the file, without fallbacks."""
        return [stream for entry in self.stream_entries for stream in entry.streams]

    @property
    def fallback_labels(self) -> dict[str, str]:
        """The notices of the fallbacks, by the names of their data sets."""
        fallbacks = [entry.fallback for entry in self.stream_entries if entry.fallback]
        own = {stream.name for stream in self.streams}
        return {each.stream.name: each.label for each in fallbacks if each.stream.name not in own}

    @property
    def info(self) -> ExperimentInfo:
        """What the store records of it."""
        is_compared = self.is_compared and not self.effects_of and not self.is_tuned
        return ExperimentInfo(self.name, self.title, self.description, is_compared=is_compared)

    @property
    def is_tuned(self) -> bool:
        """Whether a profile lists seeds for choosing: settings are compared only after they have been chosen."""
        from benchmark.protocol import load_protocol

        lists = [profile.seeds for profile in self.profiles.values() if isinstance(profile.seeds, list)]
        purpose = load_protocol().seeds.purpose
        return any(purpose(seed) == "choose" for seeds in lists for seed in seeds)

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
        of_streams = type(self.streams[0]).model_fields
        of_first, of_all = (
            {*of_streams, *(name for entry in entries for name in entry.parameters)}
            for entries in (self.algorithms[:1], self.algorithms)
        )
        for which, names, options in (("effects_of", self.effects_of, of_first), ("words", self.words, of_all)):
            for name in names:
                if name not in options:
                    raise unknown_name(which, name, options)
        return self

    @model_validator(mode="after")
    def _thresholds_in_range(self) -> "Experiment":
        for name, profile in self.profiles.items():
            parts = self.parts(profile)
            runs = dict.fromkeys(range(len(self.algorithms)), 0)
            for index, entry in enumerate(self.algorithms):
                for streams, part in parts:
                    settings = number_of_combinations(_grids(entry.parameters, part, entry.front))
                    runs[index] += len(streams.streams) * settings
            seeds = max(len(profile.seed_list()), len(profile.more_seeds()))
            for method in profile.more.at if profile.more else ():
                if method not in (known := {entry.name for entry in self.algorithms}):
                    raise unknown_name(f"method in profile {name}, more.at", method, known)
            if (total := seeds * sum(runs.values())) > MAX_RUNS:
                raise ValueError(f"profile {name} must have at most {MAX_RUNS:,} runs, got {total:,}")
            for index, entry in enumerate(self.algorithms):
                if not runs[index]:
                    raise ValueError(f"{entry.name} has no parameter values in profile {name}; add a grid or a list")
                for _, part in parts:
                    for values in expanded(entry.parameters, part, entry.front):
                        of_stream = {"global_dim": 1} if values.get("global_dim") == OF_STREAM else {}
                        make_method(entry.name, values | of_stream)
        return self

    def parts(self, profile: Profile) -> list[tuple[StreamEntry, Profile]]:
        """Return each entry of streams, with the profile that holds for them."""
        return [(entry, profile.restricted(entry.only)) for entry in self.stream_entries]


def expanded(parameters: Mapping[str, Any], profile: Profile, front: Front | None) -> list[dict[str, Any]]:
    """Return every combination of parameter values; `grid` is replaced by the profile's values of the front."""
    return combinations(_grids(parameters, profile, front))


def _grids(parameters: Mapping[str, Any], profile: Profile, front: Front | None) -> Grids:
    """Return the values of each parameter: those of the grid, those of a list, or a single value."""
    return {
        name: profile.thresholds(front)
        if front is not None and isinstance(value, str) and value == GRID
        else (value if isinstance(value, list | tuple) else [value])
        for name, value in parameters.items()
    }


def combinations(grids: Grids) -> list[dict[str, Any]]:
    """Return every combination of values; without grids, a single empty one."""
    return [dict(zip(grids, values, strict=True)) for values in product(*grids.values())]


def number_of_combinations(grids: Grids) -> int:
    """Return the number of combinations of values."""
    return math.prod(len(values) for values in grids.values())


def spread(values: Sequence[Any], count: int) -> tuple[Any, ...]:
    """Return some of the values at equal distances, both ends included; all of them if there are not more."""
    if count >= len(values):
        return tuple(values)
    return tuple(values[round(place * (len(values) - 1) / max(count - 1, 1))] for place in range(count))


def experiment_names() -> list[str]:
    """Return the names of the built-in experiments."""
    return sorted(path.stem for path in FOLDER.glob("*.toml"))


def _shipped_files() -> list[dict[str, Any]]:
    return [read_toml(path, MAX_BYTES) for path in sorted(FOLDER.glob("*.toml"))]


@cache
def items_of_the_paper() -> dict[str, str]:
    """Return the figure or table that each built-in experiment reproduces, if any."""
    return {path.stem: read_toml(path, MAX_BYTES).get("of_the_paper", "") for path in FOLDER.glob("*.toml")}


def _shipped_streams() -> list[dict[str, Any]]:
    """Return the entries of streams in the files of the shipped experiments."""
    return [entry for file in _shipped_files() for entry in file["streams"]]


def shipped_methods(profile: str) -> set[str]:
    """Return the names of the methods that the shipped experiments with a profile run."""
    files = [file for file in _shipped_files() if profile in file["profiles"]]
    return {each["name"] for file in files for entry in file["algorithms"] for each in _named(entry)}


def shipped_data_sets() -> list[str]:
    """Return the names of the data sets that the shipped experiments use."""
    return sorted({entry[DATASET] for entry in _shipped_streams() if DATASET in entry})


def optional_data_sets() -> set[str]:
    """Return the data sets that the shipped experiments leave out if they are not available."""
    required = {entry.get(DATASET) for entry in _shipped_streams() if not entry.get("optional", False)}
    return {*shipped_data_sets()} - required


def shipped_fallbacks() -> dict[str, str]:
    """Return, for data sets of the shipped experiments, the one to use if the first is not available."""
    return {entry[DATASET]: entry["fallback"][DATASET] for entry in _shipped_streams() if "fallback" in entry}


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
    if path.stem.lower() in RESERVED:
        raise ValueError(f"the file name of an experiment must not be one of {', '.join(RESERVED)}, got {name!r}")
    return load_toml(path, Experiment, MAX_BYTES, _one_line, name=path.stem)


def _one_line(error: ValidationError) -> str:
    """Return the field, its value and what is expected, for the most likely mistake."""
    details = most_likely(error)
    location = list(details["loc"])
    if "fallback" in location[2:3]:  # streams, entry, fallback, stream, field
        location = [part for part in location if part != "stream"]
        kind = DATASET if len(location) > 3 else ""
    else:
        kind = str(location[4]) if location[:1] == ["streams"] and len(location) > 4 else ""
        if kind:  # streams, entry, streams, stream of the entry, kind of stream, field
            del location[2:5]
    kinds = ("constrained", "list[", "LogSpaced")
    field = ".".join(str(part) for part in location if not str(part).startswith(kinds)) or "the file"
    if details["type"] != "extra_forbidden":
        return complaint(field, details)
    value = one_line(shown(details["input"]))[:MAX_SHOWN]
    other = {SIMULATED: DATASET, DATASET: SIMULATED}.get(kind)
    if other and location[-1] in SPECS[other].model_fields:
        return f"{field} cannot be combined with {kind}, got {value}"
    names = _known_fields(location, kind)
    hint = did_you_mean(str(location[-1]), [name for name in names if name not in ENTRY_OPTIONS])
    return f"unknown field {field}{hint}, got {value}; expected one of: {', '.join(names)}"


def _known_fields(location: list[int | str], kind: str) -> list[str]:
    if kind:
        return [*SPECS[kind].model_fields, *(ENTRY_OPTIONS if "fallback" not in location else [])]
    model: type[BaseModel] = Profile if location[0] == "profiles" and len(location) > 1 else Experiment
    model = LogSpaced if "grid" in location else model
    return [field.alias or name for name, field in model.model_fields.items() if name != "name"]
