import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from benchmark.charts.label_placement import LabelBox, Placement, overlap, place_labels

FRAME = (580.0, 350.0)


def box_of(placement: Placement, label: LabelBox) -> np.ndarray:
    return np.array(
        [
            placement.x - label.width / 2,
            placement.y - label.height / 2,
            placement.x + label.width / 2,
            placement.y + label.height / 2,
        ]
    )


def marks_of(labels: list[LabelBox]) -> np.ndarray:
    return np.array([[w.x - w.radius, w.y - w.radius, w.x + w.radius, w.y + w.radius] for w in labels])


def assert_nothing_overlaps(labels: list[LabelBox], placements: list[Placement | None]) -> None:
    pairs = [(label, placement) for label, placement in zip(labels, placements, strict=True) if placement is not None]
    boxes = np.array([box_of(placement, label) for label, placement in pairs]).reshape(-1, 4)
    for number, box in enumerate(boxes):
        assert not overlap(box, np.delete(boxes, number, axis=0)).any(), "two labels overlap"
        assert not overlap(box, marks_of(labels)).any(), "a label is on a mark"
        assert box[0] >= 0
        assert box[1] >= 0
        assert box[2] <= FRAME[0]
        assert box[3] <= FRAME[1]


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


def test_a_single_label_is_right_above_its_mark_without_a_line():
    (placement,) = place_labels([LabelBox(100, 100, 30, 8, radius=4)], FRAME)
    assert placement == Placement(100.0, 110.0, None)


def test_a_label_avoids_the_bar_of_an_interval():
    bar = np.array([[99.0, 60.0, 101.0, 140.0]])
    (placement,) = place_labels([LabelBox(100, 100, 30, 8, radius=4)], FRAME, bar)
    assert abs(placement.x - 100) > 15


def test_the_same_labels_get_the_same_placements():
    random = np.random.default_rng(3)
    labels = [LabelBox(x, y, 25, 8.5) for x, y in random.uniform(100, 220, (60, 2))]
    assert place_labels(labels, FRAME) == place_labels(labels, FRAME)


def test_a_label_that_fits_nowhere_is_reported():
    labels = [LabelBox(290, 175, 400, 200), LabelBox(290, 175, 20, 8)]
    first, second = place_labels(labels, FRAME)
    assert first is None
    assert second is not None


def test_without_labels_there_are_no_placements():
    assert place_labels([], FRAME) == []
