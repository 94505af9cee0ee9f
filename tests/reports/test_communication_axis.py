import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from reports.drawing.communication_axis import CommunicationAxis


def test_zero_has_its_own_strip_at_the_left():
    axis = CommunicationAxis.around([0, 1_000, 1_000_000])
    assert axis.left < axis.zero < axis.border < 1_000
    assert axis.ticks()[0] == (axis.zero, "0", "0")
    np.testing.assert_allclose(axis.position([0, 1_000]), [axis.zero, 1_000])


def test_without_zero_there_is_no_strip():
    axis = CommunicationAxis.around([1_000, 1_000_000])
    assert axis.zero is None
    assert axis.plotly_shapes() == []
    assert [text for _, _, text in axis.ticks()] == [f"10<sup>{power}</sup>" for power in (3, 4, 5, 6)]


def test_a_short_range_gets_ticks_between_the_decades():
    assert [text for _, text, _ in CommunicationAxis.around([5_000, 12_000]).ticks()][:2] == ["5,000", "6,000"]


@given(st.lists(st.one_of(st.just(0.0), st.floats(1, 1e12)), min_size=1, max_size=20))
def test_everything_is_inside_the_axis(values):
    axis = CommunicationAxis.around(values)
    shares = axis.share(values)
    assert ((shares > 0) & (shares < 1)).all()
    assert all(math.isfinite(value) for value, _, _ in axis.ticks())
