"""An EventStream is checked, immutable and fingerprinted."""

import copy
import pickle
import re
from array import array

import numpy as np
import pandas as pd
import pytest

from data_pipelines import EventStream


def arrays(**changes: object) -> dict[str, object]:
    valid: dict[str, object] = {
        "items": np.arange(12.0).reshape(6, 2),
        "clients": np.array([3, 9, 3]),
        "pools": np.array([[0, 1], [2, 2], [5, 4]]),
        "rewards": np.ones((3, 2)),
        "noise": np.zeros(3),
    }
    return valid | changes


def test_five_arrays_suffice_and_client_ids_may_have_gaps() -> None:
    stream = EventStream(**arrays())
    assert (stream.steps, stream.arms, stream.dimension) == (3, 2, 2)
    assert stream.client_ids.tolist() == [3, 9]
    assert stream.client_numbers.tolist() == [0, 1, 0]
    assert (stream.name, stream.source, len(stream.fingerprint)) == ("unnamed", "imported", 64)


BAD = [
    ({"items": np.array([[np.nan, 1.0]] * 6)}, "items[0, 0] must be a finite number of size at most 1e+50, got nan"),
    (
        {"items": np.array([[1.0, 1.0]] * 5 + [[1.0, np.inf]])},
        "items[5, 1] must be a finite number of size at most 1e+50, got inf",
    ),
    ({"items": np.full((6, 2), -1e51)}, "items[0, 0] must be a finite number of size at most 1e+50, got -1e+51"),
    ({"items": np.zeros(6)}, "items must have shape (I, d), each at least 1, got (6,)"),
    ({"items": np.zeros((6, 0))}, "items must have shape (I, d), each at least 1, got (6, 0)"),
    ({"items": [["a", "b"]]}, "items must be an array of real numbers, got type <U1"),
    ({"items": [["1", "2"]]}, "items must be an array of real numbers, got type <U1"),
    ({"items": np.ones((6, 2)) * 1j}, "items must be an array of real numbers, got type complex128"),
    ({"items": [[1.0, 2.0], [1.0]]}, "items must be an array of real numbers, got rows of different lengths"),
    ({"pools": [[0, 1], [2], [5, 4]]}, "pools must be an array of integers, got rows of different lengths"),
    ({"clients": np.array([1.0, 2.0, 3.0])}, "clients must be an array of integers, got type float64"),
    ({"clients": np.array([], dtype=int)}, "clients must have shape (T), each at least 1, got (0,)"),
    ({"pools": np.array([[0, 1], [2, 6], [5, 4]])}, "pools must contain rows of items, 0 to 5, got 6"),
    ({"pools": np.array([[0, 1], [2, -1], [5, 4]])}, "pools must contain rows of items, 0 to 5, got -1"),
    (
        {"pools": np.array([[0, 2**40]] * 3)},
        "pools must contain integers from -2147483648 to 2147483647, got 1099511627776",
    ),
    ({"pools": np.zeros((2, 2), dtype=int)}, "pools must have shape (3, 2), to fit clients and pools, got (2, 2)"),
    ({"rewards": np.ones((3, 3))}, "rewards must have shape (3, 2), to fit clients and pools, got (3, 3)"),
    (
        {"rewards": np.array([[1, 2], [3, np.nan], [0, 0]])},
        "rewards[1, 1] must be a finite number of size at most 1e+50, got nan",
    ),
    ({"item_of_row": [0, 1, 2, 3, 4, -1]}, "item_of_row must contain items from 0, got -1"),
    ({"held_out_count": [1, 2, 3]}, "held_out_count must have a number for each of 6 items, got 3"),
    (
        {"item_of_row": [0, 0, 0, 1, 1, 3], "held_out_likes": [1, 2, 3]},
        "held_out_likes must have a number for each of 4 items, got 3",
    ),
    ({"noise": np.zeros(4)}, "noise must have shape (3,), to fit clients and pools, got (4,)"),
    (
        {"source": "hearsay"},
        "source must be one of official, mirror, package, stand-in, simulated, imported, got 'hearsay'",
    ),
]


@pytest.mark.parametrize(("change", "message"), BAD)
def test_an_error_names_the_array_the_value_and_what_is_expected(change: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        EventStream(**arrays(**change))


def test_a_stream_is_immutable_also_through_the_arrays_it_was_made_from() -> None:
    items = np.arange(12.0).reshape(6, 2)
    stream = EventStream(**arrays(items=items))
    items[0, 0] = 99.0
    assert stream.items[0, 0] == 0.0
    for name in ("items", "clients", "pools", "rewards", "noise", "client_ids", "client_numbers"):
        with pytest.raises(ValueError, match="read-only"):
            getattr(stream, name)[0] = 1
    with pytest.raises(AttributeError):
        stream.name = "other"


def test_a_stream_cannot_be_changed_through_a_view_a_series_or_a_buffer() -> None:
    base = np.zeros(3)
    view = base.view()
    view.flags.writeable = False
    series = pd.Series(np.zeros(3))
    buffer = array("d", [0.0] * 3)
    streams = [EventStream(**arrays(noise=noise)) for noise in (view, series, buffer)]
    base[0] = series.iloc[0] = buffer[0] = 99.0
    assert [stream.noise[0] for stream in streams] == [0.0, 0.0, 0.0]


def test_a_pickled_or_copied_stream_is_still_read_only() -> None:
    stream = EventStream(**arrays())
    assert stream.client_numbers is not None
    for other in (pickle.loads(pickle.dumps(stream)), copy.deepcopy(stream)):
        assert other.fingerprint == stream.fingerprint
        for name in ("items", "clients", "pools", "rewards", "noise", "client_ids", "client_numbers"):
            np.testing.assert_array_equal(getattr(other, name), getattr(stream, name))
            assert not getattr(other, name).flags.writeable


def test_the_default_fingerprint_depends_on_the_contents() -> None:
    fingerprints = {EventStream(**arrays()).fingerprint for _ in range(2)}
    other = EventStream(**arrays(noise=np.array([0.0, 0.0, 1e-300]))).fingerprint
    assert len(fingerprints) == 1
    assert other not in fingerprints
