"""States by reference: a kernel gets the address of a table instead of the fields of a NamedTuple.

Numba passes a NamedTuple by value. A state of some forty arrays has hundreds of fields, and each function that gets it
passes all of them on, which takes most of the time to compile. A reference is a single address, that of a table with
one word per number and, for each array, its address and its shape. Inside a kernel, `state.field` reads the table; a
nested NamedTuple is a reference into it. The table never changes, so compilers read an entry once.
"""

# mypy: disallow-untyped-calls=False, disallow-untyped-decorators=False, disallow-subclassing-any=False
import hashlib
from collections.abc import Iterator
from typing import Any, NamedTuple, TypeVar, cast

import numba
import numpy as np
from llvmlite import ir
from numba.core import types
from numba.core.typing.templates import AttributeTemplate
from numba.extending import (
    NativeValue,
    infer_getattr,
    lower_getattr_generic,
    models,
    register_model,
    typeof_impl,
    unbox,
)
from numba.np.arrayobj import populate_array

State = TypeVar("State", bound=NamedTuple)

WORD = 8


class Reference:
    """A state and its table; it keeps the arrays alive."""

    def __init__(self, state: Any) -> None:
        self.state = state
        self.table = np.array(list(_words(state)), dtype=np.uint64)
        self.address = self.table.ctypes.data
        self.kind = _kind_of(numba.typeof(state))


def reference(state: State, previous: Any = None) -> State:
    """Return a reference to a state for compiled kernels: the previous one if all arrays and numbers are the same.

    With NUMBA_DISABLE_JIT=1 it is the state itself, which has the same fields.
    """
    settings: Any = numba.config
    if settings.DISABLE_JIT:
        return state
    if isinstance(previous, Reference) and _is_same(previous.state, state):
        return cast("State", previous)
    return cast("State", Reference(state))


def _is_same(one: Any, other: Any) -> bool:
    if isinstance(one, tuple) and isinstance(other, tuple):
        return len(one) == len(other) and all(map(_is_same, one, other))
    return one is other


def _words(state: Any) -> Iterator[int]:
    for value in state:
        if isinstance(value, tuple):
            yield from _words(value)
        elif isinstance(value, np.ndarray):
            if not value.flags.c_contiguous:
                raise ValueError("an array of a state must be contiguous")
            yield value.ctypes.data
            yield from value.shape
        elif isinstance(value, float):
            yield int(np.float64(value).view(np.uint64))
        else:
            yield int(value) % 2**64


class ReferenceType(types.Type):
    """The type of a reference to a NamedTuple; its name is short because it is part of the names of functions."""

    def __init__(self, target: Any) -> None:
        self.target = target
        self.fields = dict(zip(target.fields, target, strict=True))
        digest = hashlib.sha256(_description(target).encode()).hexdigest()[:16]
        super().__init__(name=f"Reference({target.instance_class.__name__}-{digest})")


def _description(field: Any) -> str:
    if not isinstance(field, types.BaseNamedTuple):
        return str(field)
    target: Any = field
    parts = [f"{name}: {_description(part)}" for name, part in zip(target.fields, target, strict=True)]
    return f"{target.instance_class.__module__}.{target.instance_class.__qualname__}({', '.join(parts)})"


_kinds: dict[Any, ReferenceType] = {}


def _kind_of(target: Any) -> ReferenceType:
    if target not in _kinds:
        _kinds[target] = ReferenceType(target)
    return _kinds[target]


register_model(ReferenceType)(models.OpaqueModel)


@typeof_impl.register(Reference)
def _typeof_reference(value: Reference, context: Any) -> ReferenceType:
    return value.kind


@unbox(ReferenceType)
def _unbox_reference(kind: ReferenceType, value: Any, context: Any) -> Any:
    address = context.pyapi.object_getattr_string(value, "address")
    pointer = context.pyapi.long_as_voidptr(address)
    context.pyapi.decref(address)
    return NativeValue(pointer)


@infer_getattr
class _ReferenceAttributes(AttributeTemplate):
    key = ReferenceType

    def generic_resolve(self, kind: ReferenceType, name: str) -> Any:  # type: ignore[override]
        field = kind.fields.get(name)
        return _kind_of(field) if isinstance(field, types.BaseNamedTuple) else field


@lower_getattr_generic(ReferenceType)
def _read_field(context: Any, builder: Any, kind: ReferenceType, pointer: Any, name: str) -> Any:
    table = _Table(builder, builder.gep(pointer, [ir.Constant(ir.IntType(64), WORD * _position(kind, name))]))
    field = kind.fields[name]
    if isinstance(field, types.BaseNamedTuple):
        return table.start
    if isinstance(field, types.Array):
        return table.array(context, field)
    if isinstance(field, types.Boolean):
        return builder.trunc(table.entry(0, ir.IntType(64)), ir.IntType(1))
    return table.entry(0, context.get_value_type(field))


def _position(kind: ReferenceType, name: str) -> int:
    names = list(kind.fields)
    return sum(_size(kind.fields[before]) for before in names[: names.index(name)])


def _size(field: Any) -> int:
    """Return the number of words of a field."""
    if isinstance(field, types.Array):
        return 1 + int(field.ndim)
    is_nested = isinstance(field, types.BaseNamedTuple)
    return sum(_size(part) for part in field) if is_nested else 1


class _Table:
    """Writes the instructions that read a table."""

    def __init__(self, builder: Any, start: Any) -> None:
        self.builder, self.start = builder, start

    def entry(self, position: int, kind: Any) -> Any:
        builder = self.builder
        place = builder.gep(self.start, [ir.Constant(ir.IntType(64), WORD * position)])
        value = builder.load(builder.bitcast(place, kind.as_pointer()))
        value.set_metadata("invariant.load", builder.module.add_metadata([]))
        return value

    def array(self, context: Any, kind: Any) -> Any:
        builder, index = self.builder, ir.IntType(64)
        array = context.make_array(kind)(context, builder)
        shape = [self.entry(1 + axis, index) for axis in range(kind.ndim)]
        itemsize = ir.Constant(index, context.get_abi_sizeof(context.get_data_type(kind.dtype)))
        strides = [itemsize]
        for length in reversed(shape[1:]):
            strides.insert(0, builder.mul(strides[0], length, flags=["nsw"]))
        data = self.entry(0, context.get_data_type(kind.dtype).as_pointer())
        populate_array(array, data=data, shape=shape, strides=strides, itemsize=itemsize, meminfo=None)
        return array._getvalue()
