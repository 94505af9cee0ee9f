"""Algorithms by name: built-in ones, entry points, users' own classes, and filters such as `name[gamma=5]`."""

import importlib
import re
import signal
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import FrameType
from typing import Any

from algorithms.method import MethodInfo
from algorithms.registry import built_in_methods
from benchmark.import_order import PACKAGES, hidden_file, search_last
from benchmark.plan.own_modules import SourceFiles, own_source
from data_pipelines.support.messages import one_line, unknown_name

ENTRY_POINTS = "fedbandit.algorithms"
MAX_FILTER_LENGTH = 2000
VALUE_OR_LIST = re.compile(r"\[\s*([^\[\],\s][^\[\],]*(?:,\s*[^\[\],\s][^\[\],]*)*)\]|[^\[\],]+")
"""A value, or a list of values, none of them empty."""


@dataclass(frozen=True)
class MethodFilter:
    """The value of `--method`: a name, and parameter values that replace those of the experiment."""

    name: str
    values: Mapping[str, tuple[Any, ...]]

    @property
    def is_own(self) -> bool:
        """Whether it names a class that is not built in: `module:Class`, or an entry point of another package."""
        return self.name not in built_in_methods()


def method_names() -> list[str]:
    """Return the names of all installed methods."""
    return sorted([*built_in_methods(), *(point.name for point in entry_points(group=ENTRY_POINTS))])


def broken_methods() -> dict[str, str]:
    """Return the methods of other packages that fail to load, each with a one-line error that names the package."""
    broken = {}
    for name in method_names():
        try:
            find_method(name)
        except ValueError as error:
            broken[name] = str(error)
    return broken


def find_method(name: str) -> type:
    """Return the class behind a name, or behind `module:Class`."""
    if ":" in name:
        return _own_class(name)
    if name in built_in_methods():
        return built_in_methods()[name].method
    loaded = _installed(name)
    if loaded is None:
        raise unknown_name("method", name, method_names())
    return loaded


@lru_cache(maxsize=64)
def _installed(name: str) -> type | None:
    """Return the class of an entry point. Cached: searching all installed packages takes milliseconds."""
    for point in entry_points(group=ENTRY_POINTS, name=name):
        try:
            with _exits_as_errors():
                loaded = point.load()
        except _ExitError as error:
            raise _broken(point, str(error)) from None
        except Exception as error:
            raise _broken(point, f"{type(error).__name__}: {error}") from None
        if not isinstance(loaded, type):
            raise _broken(point, "it is not a class")
        return loaded
    return None


def _broken(point: EntryPoint, reason: str) -> ValueError:
    package = f"the package {point.dist.name} {point.dist.version}" if point.dist else "an installed package"
    return ValueError(one_line(f"method {point.name} of {package} cannot be loaded from {point.value}: {reason}"))


def method_info(name: str) -> MethodInfo:
    """Return what the class behind a name declares."""
    return built_in_methods().get(name) or _inspected(find_method(name), name)


@lru_cache(maxsize=256)
def _inspected(method: type, name: str) -> MethodInfo:
    """Inspect each class once: a plan of 10,000 runs asks 20,000 times."""
    return MethodInfo.of(method, name)


def make_method(name: str, parameters: Mapping[str, Any]) -> Any:
    """Create a method; a wrong parameter raises a ValueError with its name, its value and what is expected."""
    info = method_info(name)
    method, known_parameters = info.method, info.parameters
    for parameter in parameters:
        if parameter not in known_parameters:
            raise unknown_name(f"parameter of {name}", parameter, known_parameters)
    try:
        return method(**parameters)
    except (TypeError, ArithmeticError) as error:
        raise ValueError(one_line(f"{name} with {dict(parameters)} cannot be created: {error}")) from None
    except (SystemExit, GeneratorExit) as error:
        text = f"{name} with {dict(parameters)} cannot be created: {type(error).__name__}: {error}"
        raise ValueError(one_line(text)) from None


def hyper_parameters(method: Any) -> dict[str, Any]:
    """Return the hyper-parameters of a method, including those left at their defaults."""
    names = _inspected(method.__class__, method.__class__.__name__).parameters
    return {name: getattr(method, name) for name in names if hasattr(method, name)}


def identity(name: str) -> str:
    """Return the part of a run key that identifies a method: its name, with its source hash if it is not built in.

    The files of that source are read now, and kept for `identified_files`.
    """
    if name in built_in_methods():
        return name
    source = own_source(find_method(name))
    text = f"{name}@{source.hash}"
    _files[text] = source.files
    return text


_files: dict[str, SourceFiles] = {}
"""The files behind each identity."""


def identified_files(text: str) -> SourceFiles:
    """Return the files that were read for an identity, for workers; none for a built-in method."""
    return _files.get(text, {})


def source_hash(identity: str) -> str:
    """Return the source hash in the identity of a method; empty if it is built in."""
    return identity.partition("@")[2]


def parse_filter(text: str) -> MethodFilter:
    """Read `name`, `name[gamma=5]`, `name[gamma=[1,5,inf],alpha=theory]` or `module:Class[…]`."""
    match = re.fullmatch(r"\s*([^\[\]\s]+)\s*(?:\[(.*)\])?\s*", text) if len(text) <= MAX_FILTER_LENGTH else None
    if match is None:
        raise ValueError(f"--method must be NAME, NAME[parameter=value,…] or module:Class, got {text[:100]!r}")
    name, settings = match.group(1), match.group(2)
    known_parameters = method_info(name).parameters
    values: dict[str, tuple[Any, ...]] = {}
    # A comma inside brackets separates values, any other comma separates settings.
    for setting in [] if settings is None else re.split(r",(?![^\[\]]*\])", settings):
        key, _, value = (part.strip() for part in setting.partition("="))
        value_match = VALUE_OR_LIST.fullmatch(value)
        if value_match is None or not key:
            raise ValueError(f"--method {text!r}: expected parameter=value, got {setting.strip()!r}")
        if key not in known_parameters:
            raise unknown_name(f"parameter of {name}", key, known_parameters)
        if key in values:
            raise ValueError(f"--method {text!r} sets {key} twice; write a list, such as {key}=[1,2]")
        values[key] = tuple(_value(part) for part in (value_match.group(1) or value).split(","))
        if "" in values[key]:
            raise ValueError(f"--method {text!r}: parameter {key} has no value")
    return MethodFilter(name, values)


def _value(text: str) -> Any:
    text = text.strip().strip("\"'")
    words: dict[str, Any] = {"true": True, "false": False, "none": None}
    if text.lower() in words:
        return words[text.lower()]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _own_class(reference: str) -> type:
    """Import a user's class. The working directory is searched last; the error names a file hidden by a module."""
    module_name, _, class_name = reference.partition(":")
    here = Path.cwd()
    search_last(here)
    try:
        with _exits_as_errors():
            module = importlib.import_module(module_name)
    except Exception as error:
        hint = f"; write {module_name.removesuffix('.py')}:{class_name}" if module_name.endswith(".py") else ""
        where = f" (searched {here} and the installed packages)" if isinstance(error, ModuleNotFoundError) else ""
        hidden = _hidden((error.name if isinstance(error, ImportError) else None) or module_name, here)
        text = f"method {reference!r}: {module_name} cannot be imported: {error}{where}{hint}{hidden}"
        raise ValueError(one_line(text)) from None
    if (file := hidden_file(module_name, here)) and file.is_file():
        raise ValueError(f"method {reference!r}{_hidden(module_name, here)}")
    method = getattr(module, class_name, None)
    if not isinstance(method, type):
        classes = [name for name, value in vars(module).items() if isinstance(value, type)]
        raise unknown_name(f"class in {module_name}", class_name, classes)
    if not (hasattr(method, "start") or (hasattr(method, "choose") and hasattr(method, "learn"))):
        raise ValueError(f"method must be a class with the functions choose and learn, got {reference!r}")
    return method


class _ExitError(Exception):
    """A module raised an exception that would end the program."""


@contextmanager
def _exits_as_errors() -> Iterator[None]:
    """Turn `sys.exit` and the like in a user's module into an error; if the user presses Ctrl-C, it remains that."""
    received: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        received.append(number)
        if callable(before):
            before(number, frame)

    before = signal.getsignal(signal.SIGINT)
    is_main = threading.current_thread() is threading.main_thread()
    if is_main:
        signal.signal(signal.SIGINT, note)
    try:
        yield
    except Exception:
        raise
    except BaseException as error:
        if received:
            raise
        raise _ExitError(f"{type(error).__name__}: {error}") from None
    finally:
        if is_main:
            signal.signal(signal.SIGINT, before)


def _hidden(module_name: str, folder: Path) -> str:
    """Return the text that names a file in the user's folder hidden by another module; empty if there is none."""
    file = hidden_file(module_name, folder)
    top = module_name.partition(".")[0]
    other = "a fedbandit package" if top in PACKAGES else "a module of Python or of an installed package"
    return f"; {file} is ignored because {top} is the name of {other}; rename the file" if file else ""
