"""Measure speed: every method relative to a floor, growth with clients, a million clients; `make bench`, `bench-scale`.

The floor is a compiled plain loop that does only the minimum work of one shared LinUCB model. The limits apply to
ratios of CPU times of this process, measured alternately on one core.

Examples:
  python -m tests.performance.bench              every method and threshold (about ten minutes)
  python -m tests.performance.bench --repeats 2  in less time; each number is less certain
  python -m tests.performance.bench --scale      time and memory with a million clients
"""

import argparse
import sys
from collections.abc import Sequence

from tests.performance import speed
from tests.performance.first_compilation import MAX_SECONDS, MAX_SECONDS_EACH, is_of_paper, measure_compilation
from tests.performance.scale import measure_scale

MIN_SHARE = 0.45


def main(argv: Sequence[str] | None = None) -> int:
    """Print the tables; return 1 if a limit was exceeded."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.performance.bench",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--scale", action="store_true", help="measure a run with a million clients instead")
    parser.add_argument(
        "--repeats", type=int, default=5, metavar="N", help="measure each N times, and take the best (default: 5)"
    )
    arguments = parser.parse_args(argv)
    if arguments.repeats < 1:
        parser.error(f"--repeats must be an integer from 1, got {arguments.repeats}")
    return _scale() if arguments.scale else _speed(arguments.repeats)


def _speed(repeats: int) -> int:
    speed.use_one_core()
    compilation = measure_compilation()
    missed = 0
    print(f"{'first compilation':<45} {'CPU s':>8} {'at most':>8}")
    of_paper = sum(seconds for kernel, seconds in compilation.items() if is_of_paper(kernel))
    limits = {**dict.fromkeys(compilation, MAX_SECONDS_EACH), "the paper's methods together": MAX_SECONDS}
    for name, seconds in {**compilation, "the paper's methods together": of_paper}.items():
        missed += (is_missed := seconds > limits[name])
        print(f"{name:<45} {seconds:8.1f} {limits[name]:8.0f}{_verdict(is_missed)}", flush=True)
    stream = speed.lastfm_shaped()
    print("\nLastFM-shaped stream (N=1,892 T=96,733 K=d=25); µs per step, without and in phases")
    print(f"{'method':<45} {'µs':>8} {'× floor':>8} {'at most':>8} {'phases':>8} {'× literal':>10}", flush=True)
    rows = []
    for row in speed.measure_methods(stream, repeats):
        rows.append(row)
        missed += (is_missed := row.multiple > row.max_multiple)
        phases = "" if row.phases is None else f"{row.phases:.2f}"
        speed_up = "" if row.speed_up is None else f"{row.speed_up:.0f}"
        print(
            f"{row.label:<45} {row.microseconds:8.2f} {row.multiple:8.2f} {row.max_multiple:8.1f} {phases:>8} "
            f"{speed_up:>10}{_verdict(is_missed)}".rstrip(),
            flush=True,
        )
    for form, multiple, at_most in speed.medians(rows):
        missed += (is_missed := multiple > at_most)
        print(f"{f'{form}, median':<54} {multiple:8.2f} {at_most:8.1f}{_verdict(is_missed)}", flush=True)
    name, seconds = speed.measure_literal(stream)
    missed += (is_missed := seconds > speed.MAX_LITERAL_SECONDS)
    limit = f"at most {speed.MAX_LITERAL_SECONDS:.0f} s{_verdict(is_missed)}"
    print(f"literal {name} on this stream: {seconds:.1f} s of CPU time; {limit}", flush=True)
    print(
        f"\n{'growth with clients (T=200,000)':<45} {'N=1,000':>8} {'100,000':>8} {'ratio':>8} {'at most':>8}",
        flush=True,
    )
    for growth in speed.measure_growth(repeats):
        missed += (is_missed := growth.ratio > growth.max_ratio)
        name, ratio = growth.label, f"{growth.ratio:8.2f} {growth.max_ratio:8.1f}"
        print(f"{name:<45} {growth.few:8.2f} {growth.many:8.2f} {ratio}{_verdict(is_missed)}", flush=True)
    scoring, large, dgemm = speed.scoring_rate(), speed.scoring_rate(100, 100, 1_000), speed.dgemm_rate()
    missed += (is_missed := scoring < MIN_SHARE * dgemm)
    print(
        f"\nscoring: {scoring:.1f} GFLOP/s, {scoring / dgemm:.0%} of this machine's dgemm ({dgemm:.1f} GFLOP/s); "
        f"at least {MIN_SHARE:.0%}{_verdict(is_missed)}"
    )
    missed += (is_missed := large < scoring)
    print(f"scoring with d=K=100: {large:.1f} GFLOP/s; at least as many as with d=K=25{_verdict(is_missed)}")
    return 1 if missed else 0


def _scale() -> int:
    missed = 0
    print("N=1,000,000 T=2,000,000 K=d=25, 20,000 items")
    print(f"{'method':<24} {'seconds':>9} {'µs/step':>9} {'C_T':>20} {'peak GiB':>9} {'at most':>8}", flush=True)
    for row in measure_scale():
        missed += (is_missed := row.peak_gib > row.max_gib)
        print(
            f"{row.label:<24} {row.seconds:9.1f} {row.microseconds:9.2f} {row.communication:20,} {row.peak_gib:9.2f} "
            f"{row.max_gib:8.1f}{_verdict(is_missed)}",
            flush=True,
        )
    return 1 if missed else 0


def _verdict(is_missed: bool) -> str:
    return "  MISSED" if is_missed else ""


if __name__ == "__main__":
    sys.exit(main())
