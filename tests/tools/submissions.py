"""Verify the bundles in the folder `submissions`: for a pull request, or all of them.

Each must be complete: a card that is filled in, and a row of a task of the board by the protocol that has not played
the report seeds, which are left to the maintainers. Then its runs are executed again, as `fedbandit verify` does.

Examples:
  python -m tests.tools.submissions                      all runs of all bundles; writes submissions/verified.toml
  python -m tests.tools.submissions --sample 40          the same with 40 runs of each
  python -m tests.tools.submissions --since origin/main  ten runs of each bundle that has changed since a commit
"""

import argparse
import hashlib
import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmark.__main__ import main as fedbandit
from benchmark.board.document import from_json
from benchmark.board.task import is_shipped
from benchmark.bundles.bundle import CARD, Bundle, Card, read_bundle
from benchmark.protocol import load_protocol
from data_pipelines.support.files import write_whole
from reports.read.submissions import FOLDER, VERIFIED

HEAD = (
    "# Written by `make board-verified`: so many runs of these bundles were executed again, and all of them agreed.\n"
)


def main(argv: Sequence[str] | None = None, folder: Path = FOLDER) -> int:
    """Return 1 if a bundle is not complete, or if a run does not agree."""
    parser = argparse.ArgumentParser(
        "tests.tools.submissions", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--since", metavar="COMMIT", help="check only bundles that have changed since, and write nothing"
    )
    parser.add_argument("--sample", type=int, metavar="N", help="runs of each bundle (default: all; with --since: 10)")
    arguments = parser.parse_args(argv)
    paths = changed(folder, arguments.since) if arguments.since else sorted(folder.glob("*.zip"))
    count = 10 if arguments.since and arguments.sample is None else arguments.sample
    agreeing = [path for path in paths if agrees(path, count)]
    print(f"{len(agreeing)} of {len(paths)} bundles agree")
    if not arguments.since:
        write_whole(folder / VERIFIED, (HEAD + "".join(entry(path, count) for path in agreeing)).encode())
    return 0 if agreeing == paths else 1


def changed(folder: Path, commit: str) -> list[Path]:
    """Return the bundles that were added or changed since the commit at which this branch began."""
    command = ["git", "diff", "--name-only", "--relative", "--diff-filter=d", "-z", f"{commit}...", "--", "*.zip"]
    names = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout.split("\0")
    return [folder / name for name in names if name]


def agrees(path: Path, count: int | None) -> bool:
    """Print what is wrong with a bundle, or how its runs agree, and return whether all is well."""
    try:
        bundle = read_bundle(path)
        reasons = [*problems(bundle)]
    except ValueError as error:
        reasons = [str(error)]
    for reason in reasons:
        print(f"{path.name}: {reason}")
    if reasons:
        return False
    if names := {run.stream.name for run in bundle.runs if not run.stream.is_simulated}:
        fedbandit(["data", *sorted(names)])
    which = ["--all"] if count is None else ["--sample", str(count)]
    return fedbandit(["verify", str(path), "--trust", *which]) == 0


def problems(bundle: Bundle) -> Iterator[str]:
    """Yield a line for everything that a submission must have and this bundle has not."""
    empty = [name for name, text in Card.read(bundle.card, CARD) if not text]
    if empty:
        yield f"the card must have {', '.join(empty)}"
    boards = [from_json(json.dumps(document), {})[0] for document in bundle.boards.values()]
    if not any(is_shipped(board.task, board.protocol) for board in boards):
        yield "it must have a task of the board by the protocol; play one with `fedbandit board TASK --method …`"
    reporting = load_protocol().seeds.reporting
    if any(run.seed in reporting.seeds for run in bundle.runs):
        yield f"seeds {reporting.first} to {reporting.last} are left to the maintainers; play it without --report"


def entry(path: Path, count: int | None) -> str:
    """Return the lines about a bundle of which so many runs agree, or all."""
    runs = len({run.key for run in read_bundle(path).runs})
    sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
    runs = runs if count is None else min(count, runs)
    return f'\n[bundles."{path.name}"]\nsha256 = "{sha256}"\nruns = {runs}\nprotocol = {load_protocol().version}\n'


if __name__ == "__main__":
    sys.exit(main())
