import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from benchmark.charts.label_placement import LabelBox, Placement, overlap, place_labels

FRAME = (580.0, 350.0)


def assert_nothing_overlaps(labels: list[LabelBox], placements: list[Placement | None]) -> None:
    pairs = [(placement, label) for label, placement in zip(labels, placements, strict=True) if placement is not None]
    boxes = np.array([box(at.x, at.y, label.width / 2, label.height / 2) for at, label in pairs]).reshape(-1, 4)
    marks = np.array([box(label.x, label.y, label.radius, label.radius) for label in labels])
    for number, each in enumerate(boxes):
        assert not overlap(each, np.delete(boxes, number, axis=0)).any(), "two labels overlap"
        assert not overlap(each, marks).any(), "a label is on a mark"
    assert (boxes[:, :2] >= 0).all()
    assert (boxes[:, 2:] <= FRAME).all()


def box(x: float, y: float, aside: float, above: float) -> tuple[float, ...]:
    return x - aside, y - above, x + aside, y + above


marks = st.tuples(st.floats(5, 495), st.floats(5, 325), st.floats(8, 45))


@given(st.lists(marks, max_size=80), st.lists(marks, max_size=5))
def test_no_label_ever_overlaps_a_label_a_mark_or_the_frame(label_marks, bar_marks):
    labels = [LabelBox(x, y, width, 8.5) for x, y, width in label_marks]
    bars = np.array([[x - 1, y - width, x + 1, y + width] for x, y, width in bar_marks]).reshape(-1, 4)
    assert_nothing_overlaps(labels, place_labels(labels, FRAME, bars))


def test_all_labels_of_three_nearly_equal_curves_of_26_thresholds_fit():
    x = np.linspace(30, 480, 26)
    labels = [LabelBox(a, 150 + 25 * np.sin(a / 90) + 6 * curve, 26.0, 8.5) for curve in range(3) for a in x]
    placements = place_labels(labels, FRAME)
    assert None not in placements
    assert_nothing_overlaps(labels, placements)


def test_a_label_that_fits_nowhere_is_reported():
    labels = [LabelBox(290, 175, 400, 200), LabelBox(290, 175, 20, 8)]
    first, second = place_labels(labels, FRAME)
    assert first is None
    assert second is not None
