"""Write the golden runs, or compare the current results with them.

Examples:
  python -m tests.golden            write them, if results changed only where a version was raised
  python -m tests.golden --check    compare; exit code 1 if any bit differs
"""

import argparse
import json
import sys
from collections.abc import Sequence

from benchmark.plan.run_key import ENGINE_VERSION
from tests.golden.runs import FILE, INSTRUCTIONS, changes, golden, replay_all, verdict


def main(argv: Sequence[str] | None = None) -> int:
    """Write the golden runs or compare with them."""
    parser = argparse.ArgumentParser("tests.golden", description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--check", action="store_true", help="compare without writing")
    arguments = parser.parse_args(argv)
    runs = replay_all()
    if arguments.check:
        message = verdict(golden(), runs)
        print(message or f"{len(runs)} runs are unchanged")
        return 1 if message else 0
    before = golden()
    is_same_engine = before["engine_version"] == ENGINE_VERSION
    if is_same_engine and (differences := changes(before, runs)):
        print("\n".join([*differences, f"Results have changed; nothing was written. {INSTRUCTIONS}"]))
        return 1
    earlier = before["runs"] if is_same_engine else {}
    FILE.write_text(json.dumps({"engine_version": ENGINE_VERSION, "runs": earlier | runs}, indent=1) + "\n")
    print(f"{len(runs)} runs written to {FILE.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
