import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from benchmark.charts.chart import Axis, at_zero, communication_axis
from benchmark.charts.with_plotly import _strip


def axis_around(values: object) -> Axis:
    return communication_axis(values, "communication")


def test_zero_has_its_own_strip_at_the_left():
    axis = axis_around([0, 1_000, 1_000_000])
    assert axis.range[0] < axis.zero < axis.border < 1_000
    assert axis.ticks[0] == (axis.zero, "0")
    np.testing.assert_allclose(at_zero(axis, [0, 1_000]), [axis.zero, 1_000])
    assert len(_strip(axis)) == 1


def test_without_zero_there_is_no_strip():
    axis = axis_around([1_000, 1_000_000])
    assert axis.zero is None
    assert _strip(axis) == []
    assert [text for _, text in axis.ticks] == ["10³", "10⁴", "10⁵", "10⁶"]


def test_a_short_range_gets_ticks_between_the_decades():
    assert [text for _, text in axis_around([5_000, 12_000]).ticks][:2] == ["5,000", "6,000"]


@given(st.lists(st.one_of(st.just(0.0), st.floats(1, 1e12)), min_size=1, max_size=20))
def test_everything_is_inside_the_axis(values):
    axis = axis_around(values)
    shares = axis.share(at_zero(axis, values))
    assert ((shares > 0) & (shares < 1)).all()
    assert all(math.isfinite(value) for value, _ in axis.ticks)
