"""Measure the engine: every method against a floor, growth in clients, scoring rate; or a million clients.

The floor is a compiled plain loop that does only the compulsory work of one shared LinUCB model. All figures
are ratios of times of this process, measured in turns, on one core.

examples:
  fedbandit bench            every method and threshold (about ten minutes)
  fedbandit bench --scale    a million clients: memory and time (about two minutes)
"""

import argparse

from benchmark.scale import MOST_GIB, measure_scale
from benchmark.speed import (
    dgemm_rate,
    lastfm_shaped,
    measure_growth,
    measure_methods,
    scoring_rate,
    use_one_core,
)

LEAST_SHARE = 0.25


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("--scale", action="store_true", help="run a million clients instead")


def run(arguments: argparse.Namespace) -> int:
    """Print the tables; exit 1 if a target was missed."""
    return _scale() if arguments.scale else _speed()


def _speed() -> int:
    use_one_core()
    print("Kernels are compiled on first use, which takes a minute or two.\n", flush=True)
    missed = 0
    stream = lastfm_shaped()
    print(f"{'LastFM-shaped stream (N=1,892 T=96,733 K=d=25)':<36}")
    print(f"{'method':<36} {'µs/step':>8} {'× floor':>8} {'at most':>8} {'× literal':>10}", flush=True)
    for row in measure_methods(stream):
        missed += (is_missed := row.multiple > row.most)
        print(
            f"{row.label:<36} {row.microseconds:8.2f} {row.multiple:8.2f} {row.most:8.1f} {row.speed_up:10.0f}"
            f"{_verdict(is_missed)}",
            flush=True,
        )
    print(
        f"\n{'growth in clients (T=200,000)':<36} {'N=1,000':>8} {'100,000':>8} {'ratio':>8} {'at most':>8}",
        flush=True,
    )
    for growth in measure_growth():
        missed += (is_missed := growth.ratio > growth.most)
        name, ratio = f"async-linucb γ={growth.gamma:g}", f"{growth.ratio:8.2f} {growth.most:8.1f}"
        print(f"{name:<36} {growth.few:8.2f} {growth.many:8.2f} {ratio}{_verdict(is_missed)}", flush=True)
    scoring, dgemm = scoring_rate(), dgemm_rate()
    missed += (is_missed := scoring < LEAST_SHARE * dgemm)
    print(
        f"\nscoring: {scoring:.1f} GFLOP/s, {scoring / dgemm:.0%} of this machine's dgemm ({dgemm:.1f} GFLOP/s); "
        f"aim: {LEAST_SHARE:.0%}{_verdict(is_missed)}"
    )
    return 1 if missed else 0


def _scale() -> int:
    missed = 0
    print("N=1,000,000 T=2,000,000 K=d=25, 20,000 items, Async-LinUCB")
    print(f"{'γ':>6} {'seconds':>9} {'µs/step':>9} {'C_T':>20} {'peak GiB':>9} {'at most':>8}", flush=True)
    for row in measure_scale():
        missed += (is_missed := row.peak_gib > MOST_GIB)
        print(
            f"{row.gamma:>6g} {row.seconds:9.1f} {row.microseconds:9.2f} {row.communication:20,} {row.peak_gib:9.2f} "
            f"{MOST_GIB:8.1f}{_verdict(is_missed)}",
            flush=True,
        )
    return 1 if missed else 0


def _verdict(is_missed: bool) -> str:
    return "  MISSED" if is_missed else ""
