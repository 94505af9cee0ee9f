import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from reports.label_placement import Place, Wish, overlap, place_labels

FRAME = (580.0, 350.0)


def box_of(place: Place, wish: Wish) -> np.ndarray:
    return np.array(
        [place.x - wish.width / 2, place.y - wish.height / 2, place.x + wish.width / 2, place.y + wish.height / 2]
    )


def marks_of(wishes: list[Wish]) -> np.ndarray:
    return np.array([[w.x - w.radius, w.y - w.radius, w.x + w.radius, w.y + w.radius] for w in wishes])


def assert_nothing_overlap(wishes: list[Wish], places: list[Place | None], obstacles: np.ndarray) -> None:
    placed = [(wish, place) for wish, place in zip(wishes, places, strict=True) if place is not None]
    boxes = np.array([box_of(place, wish) for wish, place in placed]).reshape(-1, 4)
    for number, box in enumerate(boxes):
        assert not overlap(box, np.delete(boxes, number, axis=0)).any(), "two labels overlap"
        assert not overlap(box, marks_of(wishes)).any(), "a label lies on a mark"
        assert box[0] >= 0
        assert box[1] >= 0
        assert box[2] <= FRAME[0]
        assert box[3] <= FRAME[1]


marks = st.tuples(st.floats(5, 495), st.floats(5, 325), st.floats(8, 45))


@given(st.lists(marks, max_size=80), st.lists(marks, max_size=5))
def test_no_label_ever_overlaps_a_label_a_mark_or_the_frame(wanted, blocked):
    wishes = [Wish(x, y, width, 8.5) for x, y, width in wanted]
    obstacles = np.array([[x - 1, y - width, x + 1, y + width] for x, y, width in blocked]).reshape(-1, 4)
    assert_nothing_overlap(wishes, place_labels(wishes, FRAME, obstacles), obstacles)


def test_three_curves_of_26_thresholds_that_nearly_coincide_all_get_their_labels():
    x = np.linspace(30, 480, 26)
    wishes = [Wish(a, 150 + 25 * np.sin(a / 90) + 6 * curve, 26.0, 8.5) for curve in range(3) for a in x]
    places = place_labels(wishes, FRAME)
    assert None not in places
    assert_nothing_overlap(wishes, places, np.empty((0, 4)))


def test_a_lonely_label_stands_right_above_its_mark_without_a_line():
    (place,) = place_labels([Wish(100, 100, 30, 8, radius=4)], FRAME)
    assert place == Place(100.0, 110.0, None)


def test_a_label_steps_aside_for_the_bar_of_an_interval():
    bar = np.array([[99.0, 60.0, 101.0, 140.0]])
    (place,) = place_labels([Wish(100, 100, 30, 8, radius=4)], FRAME, bar)
    assert abs(place.x - 100) > 15


def test_the_same_wishes_get_the_same_places():
    random = np.random.default_rng(3)
    wishes = [Wish(x, y, 25, 8.5) for x, y in random.uniform(100, 220, (60, 2))]
    assert place_labels(wishes, FRAME) == place_labels(wishes, FRAME)


def test_what_finds_no_place_is_told():
    wishes = [Wish(290, 175, 400, 200), Wish(290, 175, 20, 8)]
    first, second = place_labels(wishes, FRAME)
    assert first is None
    assert second is not None


def test_no_labels_are_no_problem():
    assert place_labels([], FRAME) == []
