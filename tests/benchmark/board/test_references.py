"""The reference lines of a board: those that make sense on its stream."""

from pathlib import Path

import pytest

from algorithms.stream import StreamOutline
from benchmark.board.entries import reference_filters
from benchmark.plan.runs import outline_of
from data_pipelines.fetch.sources import PreparationOptions
from data_pipelines.prepare.readiness import make_ready
from data_pipelines.stream_spec import dataset_spec, simulated_spec

HELD_OUT = {"held-out-popularity", "held-out-likes", "cosine-popularity"}


def references(outline: StreamOutline) -> set[str]:
    return {algorithm.name for algorithm in reference_filters(outline)}


@pytest.mark.parametrize(
    ("options", "lines"),
    [
        ({}, set()),
        ({"has_held_out_users": True}, {"held-out-popularity"}),
        ({"has_held_out_users": True, "has_held_out_likes": True}, {"held-out-popularity", "held-out-likes"}),
        ({"has_held_out_users": True, "has_profiles": True}, {"held-out-popularity", "cosine-popularity"}),
    ],
)
def test_references_that_make_no_sense_on_a_stream_are_left_out(options: dict[str, bool], lines: set[str]):
    names = references(StreamOutline("any", 25, **options))
    assert names & HELD_OUT == lines
    assert {"random", "rocchio", "most-popular", "hindsight-linear", "centralised-linucb"} <= names


def test_the_outline_of_a_specification_is_that_of_its_stream(tmp_path: Path):
    assert make_ready("lastfm", PreparationOptions(folder=tmp_path, stand_in="small")).manifest is not None
    factors = dataset_spec(dataset="lastfm", features="factors").bound(tmp_path)
    simulated = simulated_spec("uniform", steps=50, clients=4)
    for spec in (factors, dataset_spec(dataset="lastfm").bound(tmp_path), simulated):
        outline, built = outline_of(spec), StreamOutline.of(spec.build(0))
        for name in ("arms", "dimension", "has_held_out_users", "has_held_out_likes", "has_profiles"):
            assert getattr(outline, name) == getattr(built, name), (spec, name)
