"""The declaration of a method: everything that plans, records, reports and tests need to know about it.

A built-in method is declared in a module of `methods`; modules of the same name have its compiled form in `kernels` and
its literal form in `literal`. No module outside this package names a method.
"""

import inspect
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from types import UnionType
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol, Self, Union, get_args, get_origin, get_type_hints
from zlib import crc32

from algorithms.hyperparameters import number_text

if TYPE_CHECKING:
    from algorithms.compiled_run import CompiledRun
    from algorithms.messages import Client, Federated, Problem, Server
    from algorithms.stream import Stream, StreamOutline
    from algorithms.trace import Transfers

Role = Literal["contender", "baseline", "reference"]
"""Contenders are ranked; a baseline is the level that results are divided by; a reference is shown, but not ranked."""

PLAIN_PYTHON = 100.0
"""Microseconds per step of a class in plain Python."""

MAX_STYLE = 47
"""Styles are numbers from 0: 8 colours × 6 markers."""

FIRST_FREE_STYLE = 24
"""The first style of methods that are not built in and declare none."""


Kind = Literal["one model", "personal", "clustered", "private"]
"""What clients share: one model for all, a model beside one of their own, one per cluster, or one with noise."""


@dataclass(frozen=True)
class Front:
    """The parameter that a threshold grid varies: it trades reward for communication.

    Attributes:
        parameter: the name of the hyper-parameter.
        symbol: how figures and tables write it.
        grid: 12 values, from the least to the most communication.
        from_offset: turns a value of an experiment's `grid` into a value of the parameter; a function of a module, so
            that it can be sent to other processes.
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

SCALED = ("ridge",)
"""The parameters whose values, when tuned, are multiplied by the mean squared norm of the task's arms."""


@dataclass(frozen=True)
class Limits:
    """The limits that `make bench` checks; a measurement without a limit is left out.

    Attributes:
        floor_multiple: the maximum time per step, as a multiple of the floor; phases (`CompiledRun`) are left out.
        median_multiple: the maximum of the median of these multiples over the front of the method.
        growth: the maximum time per step with 100,000 clients, as a multiple of that with 1,000.
        memory: the maximum memory with a million clients, in GiB.
    """

    floor_multiple: float | None = None
    median_multiple: float | None = None
    growth: float | None = None
    memory: float | None = None


@dataclass(frozen=True)
class About:
    """What a reader wants to know about a method: its section in docs/methods.md.

    Attributes:
        idea: what it does and why, in two sentences.
        formula: how it chooses and when it communicates, as plain text.
        sends: what a message holds.
        deviations: where this form differs from the published one; empty if it does not.
    """

    idea: str
    formula: str
    sends: str
    deviations: tuple[str, ...] = ()


class Learner(Protocol):
    """A method in plain Python, step by step: the interface of your own methods.

    It may also have `start(client_ids, dimension)`, called once before the first step, and an attribute
    `transfer_dim`: the dimension of the statistics it transfers, if it differs from the stream's. With `role =
    "reference"`, which is not ranked, it may have `read_stream(stream)`, called before: item ids and all rewards.
    """

    def choose(self, client: int, contexts: Any, rng: Any) -> int:
        """Return the index of the chosen row of `contexts` (K, d). `rng` depends on seed and step only."""

    def learn(self, client: int, context: Any, reward: float) -> "Transfers":
        """Learn from the reward of the chosen row, and return the transfers that it caused."""


class Method(ABC):
    """A method with its hyper-parameters as fields; a frozen dataclass.

    Attributes:
        name: the name in commands, experiments and records.
        label: the name in figures and tables.
        reference: where it is published; "ours" if it is not.
        about: its section in docs/methods.md; every contender has one.
        front: the parameter that a threshold grid varies; `None` if there is none.
        tuned: the parameters that are tuned over the values of the benchmark protocol; by default `alpha` and `ridge`,
            if the class has them and declares no `tuning`.
        tuning: values of its own that parameters are tuned over.
        variants: sets of fixed values that are ranked as methods of their own, by what they add to the label.
        scaled: the parameters in units of the mean squared norm of a task's arms, by which their values are multiplied.
        is_usual: whether a quick board and `recommend` play it unless it is named: at most five methods, not inherited.
        added: parameters added later, with the values for which the key of a run stays the same as before.
        style: its colour and marker, from 0 to 47; `None` derives one from the name.
        version: the version of this method alone; increment it when its results change, so that its runs are repeated.
        changes: for each later version, what changed in it, in a few words such as "order corrected".
        role: whether it is ranked.
        kind: what its clients share; every contender has one.
        microseconds_per_step: its usual time, for estimates.
        compile_seconds: the time to compile its kernels; `None` if it has none.
        kernel: the name of its kernel, if other methods use it too.
        kernel_settings: the boolean parameters that select its kernels.
        measured: values of further parameters that `make bench` measures, each on its own.
    """

    name: ClassVar[str]
    label: ClassVar[str]
    reference: ClassVar[str]
    about: ClassVar[About | None] = None
    front: ClassVar[Front | None] = None
    tuned: ClassVar[tuple[str, ...] | None] = None
    tuning: ClassVar[Mapping[str, tuple[Any, ...]] | None] = None
    variants: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    scaled: ClassVar[tuple[str, ...]] = SCALED
    is_usual: ClassVar[bool] = False
    added: ClassVar[Mapping[str, Any]] = {}
    style: ClassVar[int | None] = None
    version: ClassVar[int] = 1
    changes: ClassVar[Mapping[int, str]] = {}
    role: ClassVar[Role] = "contender"
    kind: ClassVar[Kind | None] = None
    microseconds_per_step: ClassVar[float] = PLAIN_PYTHON
    compile_seconds: ClassVar[int | None] = None
    kernel: ClassVar[str] = ""
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
    def literal(self) -> "Learner | Federated":
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

    These are in `kernels` and `literal`, and are imported when needed: declarations are read without Numba.
    """

    def start(self, stream: "Stream", seed: int) -> "CompiledRun":
        """Prepare a run over a stream."""
        run: CompiledRun = self._counterpart("kernels", f"{type(self).__name__}Run")(self, stream, seed)
        return run

    def literal(self) -> "Learner | Federated":
        """Return the method line by line, in plain NumPy."""
        learner: Learner = self._counterpart("literal", f"Literal{type(self).__name__}")(self)
        return learner

    def _counterpart(self, folder: str, name: str) -> Any:
        package, _, module = type(self).__module__.partition(".methods.")
        return getattr(import_module(f"{package}.{folder}.{module}"), name)


class FederatedMethod(BuiltInMethod, abstract=True):
    """A method `Name` whose literal form is a client and a server, `NameClient` and `NameServer` in `literal`."""

    def client(self, number: int, problem: "Problem") -> "Client":
        """Return a new client; `number` is its position among the clients of the stream."""
        client: Client = self._counterpart("literal", f"{type(self).__name__}Client")(self, number, problem)
        return client

    def server(self, problem: "Problem") -> "Server":
        """Return the server."""
        server: Server = self._counterpart("literal", f"{type(self).__name__}Server")(self, problem)
        return server

    def literal(self) -> "Federated":
        """Return its clients and server, without the compiled form."""
        return ClientsAndServer(self)


@dataclass(frozen=True)
class ClientsAndServer:
    """The clients and the server of a built-in method, for `replay`."""

    method: FederatedMethod

    @property
    def charges_all(self) -> bool:
        """Whether transfers of clients that have not joined are counted, too."""
        return getattr(self.method, "charge", "known") == "all"

    def client(self, number: int, problem: "Problem") -> "Client":
        """Return a new client."""
        return self.method.client(number, problem)

    def server(self, problem: "Problem") -> "Server":
        """Return the server."""
        return self.method.server(problem)


@dataclass(frozen=True)
class MethodInfo:
    """What plans, records, reports and people need to know about a method, also about one that is not installed.

    That of a plain class follows from its constructor, where it declares nothing. A record has name, label, style, role
    and front, of whose grid it has both ends. The other fields are those of `Method`.

    Attributes:
        style: the number of its colour and marker, from 0 to 47.
        method: its class; `object` if the info is read from a record.
    """

    name: str
    label: str
    style: int
    role: Role = "contender"
    front: Front | None = None
    reference: str = ""
    tuned: tuple[str, ...] = ()
    tuning: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    variants: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    scaled: tuple[str, ...] = SCALED
    is_usual: bool = False
    added: Mapping[str, Any] = field(default_factory=dict)
    version: int = 1
    changes: Mapping[int, str] = field(default_factory=dict)
    microseconds_per_step: float = PLAIN_PYTHON
    compile_seconds: int | None = None
    kernel_settings: tuple[str, ...] = ()
    kind: Kind | None = None
    method: type = object

    @classmethod
    def of(cls, method: type, name: str | None = None) -> "MethodInfo":
        """Return the info of a class; `name` is the name under which it was found."""
        name = name or str(getattr(method, "name", method.__name__))
        parameters = parameters_of(method)
        declared = _declared(method)
        if "front" not in declared and not issubclass(method, Method):
            declared["front"] = usual_front(parameters)
        if "tuned" not in declared and "tuning" not in declared:
            declared["tuned"] = tuple(parameter for parameter in TUNED if parameter in parameters)
        declared["is_usual"] = bool(vars(method).get("is_usual", False))
        info = cls(**{"name": name, "label": usual_label(name), "style": usual_style(name), **declared}, method=method)
        for parameter in {*info.tuned} - {*TUNED}:
            raise ValueError(f"tuned of {name} must be some of {', '.join(TUNED)}, got {parameter!r}")
        of_variants = [parameter for values in info.variants.values() for parameter in values]
        for parameter in (*filter(None, [info.parameter]), *info.tuned, *info.tuning, *of_variants, *info.added):
            if parameter not in parameters:
                raise ValueError(f"{name} must take the parameter {parameter} that it declares")
        if not info.label.isprintable():
            raise ValueError(f"label of {name} must have no control characters, got {info.label!r}")
        if not 0 <= info.style <= MAX_STYLE:
            raise ValueError(f"style of {name} must be an integer from 0 to {MAX_STYLE}, got {info.style!r}")
        return info

    @cached_property
    def parameters(self) -> tuple[str, ...]:
        """The names of the hyper-parameters that the class takes."""
        return parameters_of(self.method)

    @property
    def parameter(self) -> str:
        """The parameter that its front varies; empty if there is none."""
        return self.front.parameter if self.front else ""

    @property
    def symbol(self) -> str:
        """How figures and tables write that parameter."""
        return self.front.symbol if self.front else ""

    @property
    def ends(self) -> tuple[float, ...]:
        """The ends of its grid, which figures label with their symbol."""
        return (self.front.grid[0], self.front.grid[-1]) if self.front and self.front.grid else ()

    @property
    def landmarks(self) -> Mapping[float, str]:
        """The values that figures draw as extremes, with their names."""
        return self.front.landmarks if self.front else {}

    def variant_label(self, suffix: str) -> str:
        """Return the label of a variant: "Name with an option", or "Name, an option"; "(ours)" is said once."""
        label = self.label.removesuffix(" (ours)") if suffix.endswith(" (ours)") else self.label
        return f"{label}{' ' if suffix.startswith('with') else ', '}{suffix}"

    def is_rule(self, parameters: Container[str]) -> bool:
        """Tell whether it is a reference without a model, such as a counter: a linear model has a `ridge`."""
        return self.role == "reference" and "ridge" not in parameters

    def changes_since(self, version: int) -> list[str]:
        """Return what changed after a version, in order."""
        return [text for number, text in sorted(self.changes.items()) if number > version]

    def to_json(self) -> dict[str, Any]:
        """Return the fields of a record; numbers are texts, because JSON has no infinity."""
        fields = {name: getattr(self, name) for name in ("name", "label", "style", "role", "parameter", "symbol")}
        landmarks = {number_text(value): name for value, name in self.landmarks.items()}
        return {**fields, "ends": [number_text(value) for value in self.ends], "landmarks": landmarks}

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> "MethodInfo":
        """Return the info with the fields of a record."""
        landmarks = {float(value): str(name) for value, name in fields["landmarks"].items()}
        ends = tuple(float(value) for value in fields["ends"])
        front = Front(fields["parameter"], fields["symbol"], ends, landmarks=landmarks) if fields["parameter"] else None
        return cls(fields["name"], fields["label"], fields["style"], fields["role"], front)

    def as_recorded(self) -> "MethodInfo":
        """Return the part that a record has."""
        return self.from_json(self.to_json())


def _declared(method: type) -> dict[str, Any]:
    """Return the fields that a class declares: a plain class may use a name for something else, of another type."""
    declared = {}
    for name, hint in get_type_hints(MethodInfo).items():
        value = getattr(method, name, None)
        if value is not None and name not in ("name", "method") and _is_of_type(value, hint):
            declared[name] = value
    return declared


def _is_of_type(value: object, hint: Any) -> bool:
    """Whether a value is of a type, of a union of types, or one of the texts of a `Literal`."""
    if isinstance(hint, UnionType) or get_origin(hint) is Union:
        return any(_is_of_type(value, part) for part in get_args(hint))
    if get_origin(hint) is Literal:
        return isinstance(value, str) and value in get_args(hint)
    kinds = (float, int) if hint is float else (get_origin(hint) or hint,)
    return isinstance(value, kinds) and not isinstance(value, bool)


def is_learner(method: object) -> bool:
    """Whether a class or an object is a `Learner`: a class in plain Python, which declares its communication."""
    return hasattr(method, "choose") and hasattr(method, "learn")


def is_federated(method: object) -> bool:
    """Whether a class or an object consists of clients and a server only, whose messages are measured."""
    return hasattr(method, "client") and hasattr(method, "server") and not hasattr(method, "start")


def usual_front(parameters: Iterable[str]) -> Front | None:
    """Return the front of a plain class that declares none: a parameter with the name of a common threshold."""
    return next((front for front in (GAMMA, THRESHOLD) if front.parameter in {*parameters}), None)


def usual_label(name: str) -> str:
    """Return the label of a class that declares none: for `module:Class`, its name and module."""
    module, colon, class_name = name.partition(":")
    return f"{class_name} ({module})" if colon else name


def usual_style(name: str) -> int:
    """Return the style of a class that declares none: it follows from its name, never from other methods."""
    return FIRST_FREE_STYLE + crc32(name.encode()) % (MAX_STYLE + 1 - FIRST_FREE_STYLE)


def parameters_of(method: type) -> tuple[str, ...]:
    """Return the names of the parameters of a class."""
    return tuple(name for name in inspect.signature(method).parameters if name not in ("args", "kwargs"))
