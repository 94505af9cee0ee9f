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
    good: dict[str, object] = {
        "items": np.arange(12.0).reshape(6, 2),
        "clients": np.array([3, 9, 3]),
        "pools": np.array([[0, 1], [2, 2], [5, 4]]),
        "rewards": np.ones((3, 2)),
        "noise": np.zeros(3),
    }
    return good | changes


def test_five_arrays_suffice_and_client_ids_may_have_gaps() -> None:
    stream = EventStream(**arrays())
    assert (stream.steps, stream.arms, stream.dimension) == (3, 2, 2)
    assert stream.client_ids.tolist() == [3, 9]
    assert stream.client_numbers.tolist() == [0, 1, 0]
    assert (stream.name, stream.source, len(stream.fingerprint)) == ("unnamed", "imported", 64)


BAD = [
    ({"items": np.array([[np.nan, 1.0]] * 6)}, "items[0, 0] is nan; allowed are finite numbers"),
    ({"items": np.array([[1.0, 1.0]] * 5 + [[1.0, np.inf]])}, "items[5, 1] is inf; allowed are finite numbers"),
    ({"items": np.full((6, 2), -1e51)}, "items[0, 0] is -1e+51; allowed are finite numbers of size at most 1e+50"),
    ({"items": np.zeros(6)}, "items has shape (6,); allowed is (I, d)"),
    ({"items": np.zeros((6, 0))}, "items has shape (6, 0); allowed is (I, d), each at least 1"),
    ({"items": [["a", "b"]]}, "items has type <U1; allowed are real numbers"),
    ({"items": [["1", "2"]]}, "items has type <U1; allowed are real numbers"),
    ({"items": np.ones((6, 2)) * 1j}, "items has type complex128; allowed are real numbers"),
    ({"items": [[1.0, 2.0], [1.0]]}, "items is not an array, its rows differ in length; allowed are real numbers"),
    ({"pools": [[0, 1], [2], [5, 4]]}, "pools is not an array, its rows differ in length; allowed are integers"),
    ({"clients": np.array([1.0, 2.0, 3.0])}, "clients has type float64; allowed are integers"),
    ({"clients": np.array([], dtype=int)}, "clients has shape (0,); allowed is (T), each at least 1"),
    ({"pools": np.array([[0, 1], [2, 6], [5, 4]])}, "pools names item 6; allowed are the rows of items, 0 to 5"),
    ({"pools": np.array([[0, 1], [2, -1], [5, 4]])}, "pools names item -1; allowed are the rows of items, 0 to 5"),
    ({"pools": np.array([[0, 2**40]] * 3)}, "pools holds 1099511627776; allowed are integers from"),
    ({"pools": np.zeros((2, 2), dtype=int)}, "pools has shape (2, 2); allowed is (3, 2)"),
    ({"rewards": np.ones((3, 3))}, "rewards has shape (3, 3); allowed is (3, 2)"),
    ({"rewards": np.array([[1, 2], [3, np.nan], [0, 0]])}, "rewards[1, 1] is nan"),
    ({"noise": np.zeros(4)}, "noise has shape (4,); allowed is (3,)"),
    ({"source": "hearsay"}, "source is 'hearsay'; allowed are official, mirror, stand-in, simulated, imported"),
]


@pytest.mark.parametrize(("change", "message"), BAD)
def test_bad_arrays_are_named_with_value_and_what_is_allowed(change: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        EventStream(**arrays(**change))


def test_the_stream_cannot_be_changed_nor_can_the_arrays_it_was_made_of_change_it() -> None:
    items = np.arange(12.0).reshape(6, 2)
    stream = EventStream(**arrays(items=items))
    items[0, 0] = 99.0
    assert stream.items[0, 0] == 0.0
    for name in ("items", "clients", "pools", "rewards", "noise", "client_ids", "client_numbers"):
        with pytest.raises(ValueError, match="read-only"):
            getattr(stream, name)[0] = 1
    with pytest.raises(AttributeError):
        stream.name = "other"


def test_no_one_else_can_change_the_stream_through_a_view_a_series_or_a_buffer() -> None:
    base = np.zeros(3)
    view = base.view()
    view.flags.writeable = False
    series = pd.Series(np.zeros(3))
    buffer = array("d", [0.0] * 3)
    streams = [EventStream(**arrays(noise=noise)) for noise in (view, series, buffer)]
    base[0] = series.iloc[0] = buffer[0] = 99.0
    assert [stream.noise[0] for stream in streams] == [0.0, 0.0, 0.0]


def test_a_pickled_or_copied_stream_is_as_read_only_as_before() -> None:
    stream = EventStream(**arrays())
    assert stream.client_numbers is not None
    for other in (pickle.loads(pickle.dumps(stream)), copy.deepcopy(stream)):
        assert other.fingerprint == stream.fingerprint
        for name in ("items", "clients", "pools", "rewards", "noise", "client_ids", "client_numbers"):
            np.testing.assert_array_equal(getattr(other, name), getattr(stream, name))
            assert not getattr(other, name).flags.writeable


def test_arrays_that_are_read_only_already_are_not_copied() -> None:
    items = np.ones((6, 2))
    items.flags.writeable = False
    assert EventStream(**arrays(items=items)).items is items


def test_the_default_fingerprint_follows_the_contents() -> None:
    same = {EventStream(**arrays()).fingerprint for _ in range(2)}
    other = EventStream(**arrays(noise=np.array([0.0, 0.0, 1e-300]))).fingerprint
    assert len(same) == 1
    assert other not in same
