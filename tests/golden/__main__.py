"""Write the golden runs, or compare with them.

Examples:
  python -m tests.golden            write them, if nothing changed or the engine version was raised
  python -m tests.golden --check    compare; exit code 1 if a single bit is different
"""

import argparse
import json
import sys
from collections.abc import Sequence

from benchmark.run_key import ENGINE_VERSION
from tests.golden.runs import FILE, WAY_ON, carry_out_all, changes, golden, verdict


def main(argv: Sequence[str] | None = None) -> int:
    """Write or compare."""
    parser = argparse.ArgumentParser("tests.golden", description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--check", action="store_true", help="compare, write nothing")
    arguments = parser.parse_args(argv)
    runs = carry_out_all()
    if arguments.check:
        told = verdict(golden(), runs)
        print(told or f"{len(runs)} runs are as they were")
        return 1 if told else 0
    if FILE.exists() and golden()["engine_version"] == ENGINE_VERSION and (told := changes(golden(), runs)):
        print("\n".join([*told, f"The same runs come out differently; nothing is written. {WAY_ON}"]))
        return 1
    FILE.write_text(json.dumps({"engine_version": ENGINE_VERSION, "runs": runs}, indent=1, sort_keys=True) + "\n")
    print(f"{len(runs)} runs written to {FILE.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
