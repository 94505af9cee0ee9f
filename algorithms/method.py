"""The declaration of a method: everything that plans, records, reports and tests need to know about it.

A built-in method is declared in a module of `methods`; modules of the same name have its compiled form in `kernels` and
its literal form in `literal`. No module outside this package names a method.
"""

import inspect
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol, Self, get_args

if TYPE_CHECKING:
    from algorithms.compiled_run import CompiledRun
    from algorithms.stream import Stream, StreamOutline
    from algorithms.trace import Transfers

Role = Literal["contender", "baseline", "reference"]
"""Contenders are ranked; a baseline is the level that results are divided by; a reference is shown, but not ranked."""

PLAIN_PYTHON = 100.0
"""Microseconds per step of a class in plain Python."""

MAX_STYLE = 47
"""Styles are numbers from 0: 8 colours × 6 markers."""


@dataclass(frozen=True)
class Front:
    """The parameter that a threshold grid varies: it trades reward for communication.

    Attributes:
        parameter: the name of the hyper-parameter.
        symbol: how figures and tables write it.
        grid: 12 values, from the least to the most communication.
        from_offset: turns a value of an experiment's `grid` into a value of the parameter; a function of a module, so
            that the declaration can be sent to other processes.
        landmarks: names of special values, which figures draw as extremes.
    """

    parameter: str
    symbol: str
    grid: tuple[float, ...]
    from_offset: Callable[[float], float] = float
    landmarks: Mapping[float, str] = field(default_factory=dict)


NO_COMMUNICATION = "no communication"
EVERYTHING_SHARED = "everything shared"


def above_one(offset: float) -> float:
    """γ = 1 + g."""
    return 1.0 + offset


GAMMA = Front(
    "gamma",
    "γ",
    (math.inf, 1e16, 1e8, 1e6, 1e4, 1e3, 100.0, 10.0, 2.0, 1.3, 1.04, 1.0),
    above_one,
)
"""The threshold γ of the event-triggered protocol."""

THRESHOLD = Front("threshold", "D", (math.inf, 1e4, 3e3, 1e3, 300.0, 100.0, 50.0, 20.0, 10.0, 5.0, 2.0, 0.0))
"""The threshold D of synchronisation."""

TUNED = ("alpha", "ridge")
"""The parameters that the benchmark protocol tunes, over values of its own, in every method that has them."""


@dataclass(frozen=True)
class Limits:
    """The limits that `make bench` checks; a measurement without a limit is left out.

    Attributes:
        floor_multiple: the maximum time per step, as a multiple of the floor.
        median_multiple: the maximum of the median of these multiples over the front of the method.
        growth: the maximum time per step with 100,000 clients, as a multiple of that with 1,000.
        memory: the maximum memory with a million clients, in GiB.
    """

    floor_multiple: float | None = None
    median_multiple: float | None = None
    growth: float | None = None
    memory: float | None = None


class Learner(Protocol):
    """A method in plain Python, step by step; it may also have a method `start(client_ids, dimension)`.

    A reference may have a method `read_stream(stream)` too, which is called first.
    """

    def choose(self, client: int, contexts: Any, rng: Any) -> int:
        """Return the position of the chosen arm."""

    def learn(self, client: int, context: Any, reward: float) -> "Transfers":
        """Learn from an observation and return the transfers of the step."""


class Method(ABC):
    """A method with its hyper-parameters as fields; a frozen dataclass.

    Attributes:
        name: the name in commands, experiments and records.
        label: the name in figures and tables.
        reference: where it is published; "ours" if it is not.
        front: the parameter that a threshold grid varies; `None` if there is none.
        tuned: the parameters that are tuned over the values of the benchmark protocol; by default `alpha` and `ridge`,
            if the class has them and declares no `tuning`.
        tuning: values of its own that parameters are tuned over.
        added: parameters added later, with the values for which the key of a run stays the same as before.
        style: its colour and marker, from 0 to 47; `None` derives one from the name.
        version: the version of this method alone; increment it when its results change, so that its runs are repeated.
        changes: for each later version, what changed in it, in a few words such as "order corrected".
        role: whether it is ranked.
        microseconds_per_step: its usual time, for estimates.
        compile_seconds: the time to compile its kernels; `None` if it has none.
        kernel_settings: the boolean parameters that select its kernels.
        measured: values of further parameters that `make bench` measures, each on its own.
    """

    name: ClassVar[str]
    label: ClassVar[str]
    reference: ClassVar[str]
    front: ClassVar[Front | None] = None
    tuned: ClassVar[tuple[str, ...] | None] = None
    tuning: ClassVar[Mapping[str, tuple[Any, ...]] | None] = None
    added: ClassVar[Mapping[str, Any]] = {}
    style: ClassVar[int | None] = None
    version: ClassVar[int] = 1
    changes: ClassVar[Mapping[int, str]] = {}
    role: ClassVar[Role] = "contender"
    microseconds_per_step: ClassVar[float] = PLAIN_PYTHON
    compile_seconds: ClassVar[int | None] = None
    kernel_settings: ClassVar[tuple[str, ...]] = ()
    measured: ClassVar[Mapping[str, tuple[Any, ...]]] = {}

    def __init_subclass__(cls, *, abstract: bool = False, **options: Any) -> None:
        """Require a method to define its own names and oracle: inherited ones would belong to another method.

        An abstract class is not a method: it defines what the methods that derive from it share.
        """
        super().__init_subclass__(**options)
        if abstract:
            return
        for name in ("name", "label", "reference", "start", "literal", "examples"):
            owner = next((base for base in cls.__mro__ if name in vars(base)), Method)
            if owner is Method or (owner is not cls and "name" in vars(owner)):
                raise TypeError(f"method {cls.__name__} must define {name} itself, not inherit it")

    @abstractmethod
    def start(self, stream: "Stream", seed: int) -> "CompiledRun":
        """Prepare a run over a stream."""

    @abstractmethod
    def literal(self) -> Learner:
        """Return the literal implementation with the same hyper-parameters: the oracle of tests."""

    @classmethod
    @abstractmethod
    def examples(cls) -> Iterable[Self]:
        """Return methods with various hyper-parameters, for golden runs and tests."""

    def skip(self, stream: "StreamOutline") -> str | None:
        """Return a one-line reason why the method is not run on a stream; `None` if it is."""
        return None

    def limits(self) -> Limits:
        """Return the limits that `make bench` checks."""
        return Limits()


class BuiltInMethod(Method, abstract=True):
    """A method `Name` of a module in `methods`, with `NameRun` and `LiteralName` in the modules of the same name.

    These are in `kernels` and `literal`, and are imported when needed: a declaration is read without Numba.
    """

    def start(self, stream: "Stream", seed: int) -> "CompiledRun":
        """Prepare a run over a stream."""
        run: CompiledRun = self._counterpart("kernels", f"{type(self).__name__}Run")(self, stream, seed)
        return run

    def literal(self) -> Learner:
        """Return the method line by line, in plain NumPy."""
        learner: Learner = self._counterpart("literal", f"Literal{type(self).__name__}")(self)
        return learner

    def _counterpart(self, folder: str, name: str) -> Any:
        package, _, module = type(self).__module__.partition(".methods.")
        return getattr(import_module(f"{package}.{folder}.{module}"), name)


@dataclass(frozen=True)
class Declaration:
    """The declaration of a class; that of a plain class with `choose` and `learn` is derived from its constructor."""

    method: type
    name: str
    label: str
    reference: str = ""
    front: Front | None = None
    tuned: tuple[str, ...] = ()
    tuning: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    added: Mapping[str, Any] = field(default_factory=dict)
    style: int | None = None
    version: int = 1
    changes: Mapping[int, str] = field(default_factory=dict)
    role: Role = "contender"
    microseconds_per_step: float = PLAIN_PYTHON
    compile_seconds: int | None = None
    kernel_settings: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        front = [self.front.parameter] if self.front else []
        for name in {*self.tuned} - {*TUNED}:
            raise ValueError(f"tuned of {self.name} must be some of {', '.join(TUNED)}, got {name!r}")
        for name in (*front, *self.tuned, *self.tuning, *self.added):
            if name not in self.parameters:
                raise ValueError(f"{self.name} must take the parameter {name} that it declares")
        if self.style is not None and not 0 <= self.style <= MAX_STYLE:
            raise ValueError(f"style of {self.name} must be an integer from 0 to {MAX_STYLE}, got {self.style!r}")

    @classmethod
    def of(cls, method: type, name: str | None = None) -> "Declaration":
        """Return the declaration of a class; `name` is the name under which it was found."""
        name = name or str(getattr(method, "name", method.__name__))
        # A plain class may use these names for something else: then they have other types.
        declared = {attribute: getattr(method, attribute) for attribute in DECLARED if _declares(method, attribute)}
        if "front" not in declared and not issubclass(method, Method):
            declared["front"] = usual_front(parameters_of(method))
        if "tuned" not in declared and "tuning" not in declared:
            declared["tuned"] = tuple(parameter for parameter in TUNED if parameter in parameters_of(method))
        return cls(method, name, **{"label": _label_of(name), **declared})

    @cached_property
    def parameters(self) -> tuple[str, ...]:
        """The names of the hyper-parameters that the class takes."""
        return parameters_of(self.method)

    def changes_since(self, version: int) -> list[str]:
        """Return what changed after a version, in order."""
        return [text for number, text in sorted(self.changes.items()) if number > version]


DECLARED: Mapping[str, type | tuple[type, ...]] = {
    "label": str,
    "reference": str,
    "front": Front,
    "tuned": tuple,
    "tuning": Mapping,
    "added": Mapping,
    "style": int,
    "version": int,
    "changes": Mapping,
    "role": str,
    "microseconds_per_step": (int, float),
    "compile_seconds": int,
    "kernel_settings": tuple,
}
"""The attributes of a class that its declaration contains, and their types."""


def usual_front(parameters: Iterable[str]) -> Front | None:
    """Return the front of a plain class that declares none: a parameter with the name of a common threshold."""
    return next((front for front in (GAMMA, THRESHOLD) if front.parameter in {*parameters}), None)


def parameters_of(method: type) -> tuple[str, ...]:
    """Return the names of the parameters of a class."""
    return tuple(name for name in inspect.signature(method).parameters if name not in ("args", "kwargs"))


def _declares(method: type, attribute: str) -> bool:
    value = getattr(method, attribute, None)
    if attribute == "role":
        return value in get_args(Role)
    return isinstance(value, DECLARED[attribute]) and not isinstance(value, bool)


def _label_of(name: str) -> str:
    """Return the label of a class without one: for `module:Class`, its name and module."""
    module, colon, class_name = name.partition(":")
    return f"{class_name} ({module})" if colon else name
