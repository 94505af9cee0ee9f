"""Write runs, with all that is needed to check them, into one small file.

Examples:
  fedbandit bundle club:CLUB              all finished runs of a method
  fedbandit bundle fig_a -o fig_a.zip     those of an experiment
  fedbandit bundle lastfm-once            those of a task of the board
  fedbandit bundle club:CLUB --card card.toml

The file has records and metrics (no times), the source of your class with the
modules that it imports, fingerprints of streams and data, versions, and a card
with name, authors, reference, licence and deviations. A card file that does not
exist is written, for you to fill in. The same runs give the same bytes. Another
person checks the file with `fedbandit verify FILE`.
"""

import argparse
import hashlib
import re
from pathlib import Path

ORDER = 12


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("name", metavar="METHOD|EXPERIMENT|TASK", help="whose finished runs")
    parser.add_argument("-o", "--out", metavar="FILE", help="default: the name, with .zip")
    parser.add_argument("--card", metavar="FILE", help="a TOML file about the method (default: an empty card)")


def run(arguments: argparse.Namespace) -> int:
    """Write the bundle."""
    from benchmark.bundles.bundle import EMPTY_CARD, MAX_FILE, Card
    from benchmark.bundles.make import make_bundle
    from benchmark.records.store import Store
    from data_pipelines.support.files import write_whole
    from data_pipelines.support.text import number_of

    out = Path(arguments.out or re.sub(r"[^\w.-]+", "-", arguments.name).strip("-") + ".zip").expanduser()
    if out.is_dir() or not out.parent.is_dir():
        raise ValueError(f"--out must be a file in an existing folder, got {str(out)!r}")
    card = Path(arguments.card).expanduser() if arguments.card else None
    if card is not None and not card.exists():
        write_whole(card, EMPTY_CARD.encode())
        print(f"{card} is new: fill it in and run the same command again")
    content = EMPTY_CARD.encode() if card is None else card.read_bytes()
    Card.read(content, str(card))
    bundle = make_bundle(arguments.name, Store(), content)
    file = bundle.to_bytes()
    if len(file) > MAX_FILE:
        raise ValueError(f"a bundle must have at most {MAX_FILE:,} bytes, got {len(file):,}; bundle fewer runs")
    write_whole(out, file)
    streams = len({run.stream.fingerprint for run in bundle.runs})
    sources = number_of(sum(len(source.files) for source in bundle.sources.values()), "source file")
    print(
        f"{out}: {number_of(len(bundle.runs), 'run')} on {number_of(streams, 'stream')}, {sources}, {len(file):,} bytes"
    )
    print(f"sha256   {hashlib.sha256(file).hexdigest()}")
    print(f"check    fedbandit verify {out}")
    return 0
