"""The `EventStream`: which client acts at each step, which arms are offered, and the reward of each."""

import hashlib
import json
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from data_pipelines.support.files import save_array

ABOUT = "about.json"
SOURCES = ("official", "mirror", "package", "stand-in", "simulated", "imported")

EARLIER = 0.8
"""The share of the decisions in the first part of the time; the last part checks what was chosen on the first."""

MAX_MAGNITUDE = 1e50
"""Squares, and sums of a billion of them, must stay far inside the range of a double."""


@dataclass(frozen=True, eq=False)
class EventStream:
    """A fixed sequence of decisions to replay; the same for every algorithm.

    At step t client `clients[t]` chooses among the K items `pools[t]` (rows of `items`, repeats
    allowed). The expected reward of arm k is `rewards[t, k]`; `noise[t]` is added to the observed reward.
    Client ids are any integers, gaps included. The arrays are checked, copied unless they are already
    read-only, and made read-only.

    A stream with features of pairs of a client and an item has a row of `items` per offered pair, and `item_of_row`
    says which item that is; in other streams a row is an item. A stream with features learned from users who do not
    play has their number for each item, `held_out_count`, and, with ratings, how many liked it, `held_out_likes`.
    A stream in the order of time has the `times` of its decisions, and one of data with values has the `values` of the
    rewards of 1, one for each decision.
    """

    items: NDArray[np.float64]
    clients: NDArray[np.int64]
    pools: NDArray[np.int32]
    rewards: NDArray[np.float64]
    noise: NDArray[np.float64]
    name: str = "unnamed"
    fingerprint: str = ""
    source: str = "imported"
    item_of_row: NDArray[np.int32] | None = None
    held_out_count: NDArray[np.int64] | None = None
    held_out_likes: NDArray[np.int64] | None = None
    times: NDArray[np.int64] | None = None
    values: NDArray[np.float64] | None = None

    def __post_init__(self) -> None:
        items = _real_array("items", self.items, ("I", "d"))
        clients = _integer_array("clients", self.clients, ("T",), np.int64)
        pools = _integer_array("pools", self.pools, ("T", "K"), np.int32)
        rewards = _real_array("rewards", self.rewards, ("T", "K"))
        noise = _real_array("noise", self.noise, ("T",))
        steps = len(clients)
        _require_shape("pools", pools, (steps, pools.shape[1]))
        _require_shape("rewards", rewards, pools.shape)
        _require_shape("noise", noise, (steps,))
        for bound in (pools.min(), pools.max()):
            if not 0 <= bound < len(items):
                raise ValueError(f"pools must contain rows of items, 0 to {len(items) - 1}, got {bound}")
        if self.source not in SOURCES:
            raise ValueError(f"source must be one of {', '.join(SOURCES)}, got {self.source!r}")
        checked = {"items": items, "clients": clients, "pools": pools, "rewards": rewards, "noise": noise}
        item_count = len(items)
        if self.item_of_row is not None:
            checked["item_of_row"] = _integer_array("item_of_row", self.item_of_row, ("I",), np.int32)
            _require_shape("item_of_row", checked["item_of_row"], (len(items),))
            if (lowest := checked["item_of_row"].min()) < 0:
                raise ValueError(f"item_of_row must contain items from 0, got {lowest}")
            item_count = int(checked["item_of_row"].max()) + 1
        for name in ("held_out_count", "held_out_likes"):
            if (counts := getattr(self, name)) is not None:
                checked[name] = _integer_array(name, counts, ("number of items",), np.int64)
                if len(checked[name]) < item_count:
                    raise ValueError(f"{name} must have a number for each of {item_count} items, got {len(counts)}")
        if self.times is not None:
            checked["times"] = _integer_array("times", self.times, ("T",), np.int64)
            _require_shape("times", checked["times"], (steps,))
        if self.values is not None:
            checked["values"] = _real_array("values", self.values, ("T",))
            _require_shape("values", checked["values"], (steps,))
        for name, array in checked.items():
            object.__setattr__(self, name, array)
        if not self.fingerprint:
            object.__setattr__(self, "fingerprint", _content_hash(self.arrays()))

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore from a pickle or a copy; the arrays stay read-only."""
        for value in state.values():
            for array in value if isinstance(value, tuple) else (value,):
                if isinstance(array, np.ndarray):
                    _read_only(array)
        self.__dict__.update(state)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays of the stream, by name."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: value for name, value in values.items() if isinstance(value, np.ndarray)}

    def save(self, folder: Path) -> None:
        """Write the stream to a new folder."""
        folder.mkdir(parents=True)
        for name, array in self.arrays().items():
            save_array(folder / f"{name}.npy", array)
        about = {"name": self.name, "fingerprint": self.fingerprint, "source": self.source}
        (folder / ABOUT).write_text(json.dumps(about))

    @classmethod
    def open(cls, folder: Path) -> "EventStream":
        """Open a stream that `save` wrote; its arrays are mapped into memory."""
        arrays = {path.stem: np.load(path, mmap_mode="r") for path in folder.glob("*.npy")}
        return cls(**arrays, **json.loads((folder / ABOUT).read_text()))

    @cached_property
    def random_reward(self) -> float:
        """The expected reward of a uniformly random choice from the same pools: the sum of each pool's mean."""
        return float(self.rewards.sum()) / self.arms

    @cached_property
    def step_random_rewards(self) -> NDArray[np.float64]:
        """The same for each step."""
        return _read_only(self.rewards.mean(axis=1))

    @cached_property
    def client_random_rewards(self) -> NDArray[np.float64]:
        """The same for each client, in the order of `client_ids`."""
        return _read_only(np.bincount(self.client_numbers, weights=self.step_random_rewards))

    @cached_property
    def first_later_step(self) -> int | None:
        """The first step of the last fifth of a stream in the order of time; equal times are in one part.

        None without times, or if nearly all of them are in one part.
        """
        if self.times is None:
            return None
        first = int(np.searchsorted(self.times, self.times[int(EARLIER * self.steps)], side="left"))
        return first if EARLIER / 2 * self.steps < first else None

    @property
    def steps(self) -> int:
        """T, the number of decisions."""
        return len(self.clients)

    @property
    def arms(self) -> int:
        """K, the size of every pool."""
        return int(self.pools.shape[1])

    @property
    def dimension(self) -> int:
        """d, the length of a feature vector."""
        return int(self.items.shape[1])

    @cached_property
    def offered_items(self) -> NDArray[np.int32]:
        """The items offered at each step, also where a row of `items` is a pair of a client and an item."""
        return self.pools if self.item_of_row is None else _read_only(self.item_of_row[self.pools])

    @property
    def item_count(self) -> int:
        """The number of items."""
        return len(self.items) if self.item_of_row is None else int(self.item_of_row.max()) + 1

    @property
    def client_ids(self) -> NDArray[np.int64]:
        """The distinct client ids, in increasing order."""
        return self._numbered_clients[0]

    @property
    def client_numbers(self) -> NDArray[np.int32]:
        """For each step the position of its client in `client_ids`."""
        return self._numbered_clients[1]

    @cached_property
    def _numbered_clients(self) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        ids, numbers = np.unique(self.clients, return_inverse=True)
        return _read_only(ids), _read_only(numbers.astype(np.int32))


def _read_only(array: NDArray[Any]) -> NDArray[Any]:
    array.flags.writeable = False
    return array


def _frozen(values: object, dtype: type) -> NDArray[Any]:
    """Return a read-only array: a copy, unless `values` is an array of this type whose memory is read-only."""
    memory = values
    while isinstance(memory, np.ndarray) and not memory.flags.writeable:
        memory = memory.base
    is_safe = isinstance(values, np.ndarray) and not isinstance(memory, np.ndarray)
    is_usable = is_safe and values.dtype == dtype and values.flags.c_contiguous  # type: ignore[attr-defined]
    return values if is_usable else _read_only(np.array(values, dtype=dtype, order="C"))  # type: ignore[return-value]


def _array(name: str, values: ArrayLike, kinds: str, expected: str) -> NDArray[Any]:
    try:
        array = np.asarray(values)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be an array of {expected}, got rows of different lengths") from None
    if array.dtype.kind not in kinds:
        raise ValueError(f"{name} must be an array of {expected}, got type {array.dtype}")
    return array


def _require_dimensions(name: str, array: NDArray[Any], axes: tuple[str, ...]) -> None:
    if array.ndim != len(axes) or array.size == 0:
        raise ValueError(f"{name} must have shape ({', '.join(axes)}), each at least 1, got {array.shape}")


def _require_shape(name: str, array: NDArray[Any], shape: tuple[int, ...]) -> None:
    if array.shape != shape:
        raise ValueError(f"{name} must have shape {shape}, to fit clients and pools, got {array.shape}")


def _real_array(name: str, values: ArrayLike, axes: tuple[str, ...]) -> NDArray[np.float64]:
    _require_dimensions(name, _array(name, values, "biuf", "real numbers"), axes)
    array: NDArray[np.float64] = _frozen(values, np.float64)
    largest = max(array.max(), -array.min())  # NaN if there is any NaN
    if not largest <= MAX_MAGNITUDE:
        index = np.unravel_index(int(np.argmax(~(np.abs(array) <= MAX_MAGNITUDE))), array.shape)
        raise ValueError(
            f"{name}{[int(i) for i in index]} must be a finite number of size at most {MAX_MAGNITUDE:g}, "
            f"got {array[index]}"
        )
    return array


def _integer_array(name: str, values: ArrayLike, axes: tuple[str, ...], dtype: type) -> NDArray[Any]:
    array = _array(name, values, "iu", "integers")
    _require_dimensions(name, array, axes)
    limits = np.iinfo(dtype)
    for bound in (array.min(), array.max()):
        if not limits.min <= bound <= limits.max:
            raise ValueError(f"{name} must contain integers from {limits.min} to {limits.max}, got {bound}")
    return _frozen(values, dtype)


def _content_hash(arrays: dict[str, NDArray[Any]]) -> str:
    digest = hashlib.sha256()
    for name, array in arrays.items():
        digest.update(f"{name}{array.shape}{array.dtype}".encode())
        digest.update(array.data)
    return digest.hexdigest()
