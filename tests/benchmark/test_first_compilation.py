"""The measurement of the first compilation covers the paper's three methods."""

from benchmark.bench.first_compilation import compile_methods


def test_each_of_the_papers_methods_is_compiled_once() -> None:
    seconds = compile_methods()
    assert sorted(seconds) == ["async-linucb", "async-linucb-am", "sync-linucb"]
    assert all(value > 0 for value in seconds.values())
