"""A compilation is announced once, only when Numba really compiles, and is not part of the time of a run."""

from collections.abc import Iterator
from typing import Any, ClassVar

import numba
import numpy as np
import pytest
from numba.core import event

from algorithms import AsyncLinUCB, AsyncLinUCBAM, AsyncLinUCBAsPublished, RandomChoice, SyncLinUCB, Transfers
from algorithms.numerics.jit import OPTIONS
from benchmark.execution import compilation
from benchmark.execution.compilation import (
    BUSY,
    CompiledMethod,
    announcement,
    compile_method,
    is_compiled,
    running_time,
)
from benchmark.execution.replay import replay
from benchmark.execution.run_result import run_method
from data_pipelines import EventStream, simulate


@pytest.fixture(scope="module")
def short() -> EventStream:
    return simulate(seed=0, steps=30, clients=3)


class Clock:
    """A substitute for the module `time`."""

    def __init__(self) -> None:
        self.now = 100.0

    def perf_counter(self) -> float:
        return self.now

    def thread_time(self) -> float:
        return self.now / 2


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(compilation, "time", made)
    return made


class Toy(RandomChoice):
    """A method with two kernels of its own that are not compiled yet."""

    name: ClassVar[str] = "toy"
    label: ClassVar[str] = "Toy"
    reference: ClassVar[str] = "this test"
    compile_seconds: ClassVar[int | None] = 7
    literal = RandomChoice.literal
    examples = RandomChoice.examples

    def __init__(self) -> None:
        object.__setattr__(self, "kernels", [numba.njit(lambda x: x + 1), numba.njit(lambda x: x + 2)])

    def start(self, stream: Any, seed: int) -> Any:
        for kernel in vars(self)["kernels"]:
            kernel(seed)
        return super().start(stream, seed)


@pytest.fixture
def toy() -> Iterator[Toy]:
    made = Toy()
    assert isinstance(made, CompiledMethod)
    return made


def test_is_compiled_does_not_compile_and_is_true_once_all_kernels_are_cached(toy: Toy, short: EventStream):
    replay(RandomChoice(), short)
    assert not is_compiled(toy, short)
    assert not is_compiled(toy, short)
    assert not any(kernel.signatures for kernel in vars(toy)["kernels"])
    compile_method(toy, short)
    assert is_compiled(toy, short)


def test_replay_announces_a_compilation_in_one_line_and_only_when_it_compiles(
    toy: Toy, short: EventStream, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setitem(OPTIONS, "cache", True)
    replay(RandomChoice(), short)
    capsys.readouterr()
    first, second = replay(toy, short), None
    shown = capsys.readouterr()
    assert (shown.out, shown.err) == ("", "Compiling toy (first run only, about 7 s)\n")
    second = replay(toy, short)
    assert capsys.readouterr().err == ""
    np.testing.assert_array_equal(first.choices, second.choices)


def test_without_a_kernel_cache_the_message_does_not_say_first_run_only(toy: Toy, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(OPTIONS, "cache", False)
    assert announcement(toy) == (
        "Compiling toy (about 7 s in every process, because the compiler cache cannot be written; "
        "see `fedbandit doctor`)"
    )


def test_compile_time_is_excluded_from_the_measured_time(clock: Clock):
    before = running_time()
    clock.now += 3
    with event.trigger_event(BUSY):
        clock.now += 50
        with event.trigger_event(BUSY):  # a kernel that another one calls
            clock.now += 5
    clock.now += 1
    seconds, cpu_seconds = np.subtract(running_time(), before)
    assert (seconds, cpu_seconds) == pytest.approx((4, 2))


def test_recorded_times_exclude_compilation(clock: Clock, short: EventStream):
    class Slow:
        def choose(self, client: int, contexts: Any, rng: Any) -> int:
            clock.now += 1
            return 0

        def learn(self, client: int, context: Any, reward: float) -> Transfers:
            with event.trigger_event(BUSY):
                clock.now += 1000
            return Transfers()

    metrics = run_method(short, Slow(), 0).metrics
    assert metrics["kernel_seconds"] == pytest.approx(short.steps)
    assert metrics["cpu_seconds"] == pytest.approx(short.steps / 2)
    assert metrics["microseconds_per_step"] == pytest.approx(1e6)


@pytest.mark.parametrize(
    ("usual", "others"),
    [
        (
            AsyncLinUCB(gamma=2),
            [AsyncLinUCB(gamma=float("inf"), alpha="theory"), AsyncLinUCB(gamma_upload=[1, 2, 3], gamma_download=2)],
        ),
        (
            AsyncLinUCBAM(gamma=2),
            [AsyncLinUCBAM(gamma=1, alpha="theory"), AsyncLinUCBAM(gamma=2, global_dim=4)],
        ),
        (AsyncLinUCBAM(gamma=2, warm_start=True), [AsyncLinUCBAM(gamma=1, warm_start=True, global_dim=4)]),
        (AsyncLinUCBAsPublished(gamma=2), [AsyncLinUCBAsPublished(gamma=2, stale_models=True, first_maximum=True)]),
        (SyncLinUCB(threshold=1), [SyncLinUCB(threshold=float("inf"), alpha="theory")]),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_one_compilation_serves_all_other_settings_of_a_method(
    usual: CompiledMethod, others: list[CompiledMethod], short: EventStream
):
    compile_method(usual, short)
    assert all(is_compiled(other, short) for other in others)
