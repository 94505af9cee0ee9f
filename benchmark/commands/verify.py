"""Execute runs of a bundle again, and compare reward, transfers and choices.

Examples:
  fedbandit verify club.zip                ten runs, drawn by a new seed
  fedbandit verify club.zip --seed 7       those that another person drew
  fedbandit verify club.zip --all          all runs
  fedbandit verify club.zip --trust        also if it has source, after reading it

Source is shown first, and executed only with --trust: in a process of its own,
without network, writing to a temporary folder only, and with limits on memory
and time, as far as the system can.

The exit code is 0 if all these runs agree, 1 if one does not, 2 for a bundle
that cannot be verified here.
"""

import argparse
import hashlib
import secrets
from pathlib import Path
from typing import TYPE_CHECKING

from benchmark.commands import check_minimum
from data_pipelines.support.text import GREEN, RED, YELLOW, coloured, number_of

if TYPE_CHECKING:
    from benchmark.bundles.bundle import Bundle
    from benchmark.bundles.verify import Check

ORDER = 13


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("file", metavar="FILE", help="what `fedbandit bundle` wrote")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--sample", type=int, default=10, metavar="N", help="number of runs (default: 10)")
    which.add_argument("--all", action="store_true", help="all runs")
    parser.add_argument("--seed", type=int, metavar="SEED", help="draws the sample (default: a new one)")
    parser.add_argument("--trust", action="store_true", help="execute the source in the bundle")


def run(arguments: argparse.Namespace) -> int:
    """Print how each run agrees, and return the exit code."""
    check_minimum(arguments, sample=1, seed=0)
    from benchmark.bundles.bundle import differences, read_bundle
    from benchmark.bundles.verify import check_streams, checks, sample
    from benchmark.records.provenance import provenance

    file = Path(arguments.file).expanduser()
    bundle = read_bundle(file)
    print("\n".join(about_lines(file, bundle)))
    seed = secrets.randbelow(1 << 32) if arguments.seed is None else arguments.seed
    runs = sample(bundle, None if arguments.all else arguments.sample, seed)
    which = "all runs" if len(runs) == len(bundle.runs) else f"{number_of(len(runs), 'run')}, drawn by --seed {seed}"
    check_streams(runs)
    for line in differences(runs, provenance()):
        print(f"differs  {line}")
    has_source = any(run.method.code for run in runs)
    if has_source:
        print("\n".join(source_lines(bundle, is_whole=not arguments.trust)))
    if has_source and not arguments.trust:
        raise ValueError("the bundle has the source above; to execute it, read it and add --trust")
    print(f"checks   {which}", flush=True)
    failed = 0
    for check in checks(bundle, runs):
        if isinstance(check, str):
            print(coloured(f"note     {check}", YELLOW), flush=True)
        else:
            failed += not check.agrees
            print(check_line(check), flush=True)
    answer = f"{len(runs) - failed} of {number_of(len(runs), 'run')} agree"
    print(coloured(answer, RED if failed else GREEN))
    return 1 if failed else 0


def about_lines(file: Path, bundle: "Bundle") -> list[str]:
    """Return what the bundle is and what its card says."""
    from benchmark.bundles.bundle import CARD, Card
    from data_pipelines.support.messages import one_line

    card = Card.read(bundle.card, CARD)
    fields = {**dict(card), "authors": ", ".join(card.authors)}
    methods = dict.fromkeys(run.method.name for run in bundle.runs)
    return [
        f"bundle   {one_line(file)}, {number_of(len(bundle.runs), 'run')} of {one_line(', '.join(methods))}",
        f"sha256   {hashlib.sha256(file.read_bytes()).hexdigest()}",
        *(f"card     {name}: {one_line(text)}" for name, text in fields.items() if text),
    ]


def source_lines(bundle: "Bundle", *, is_whole: bool) -> list[str]:
    """Return the files of source in a bundle with their hash, and their content with control characters escaped."""
    from data_pipelines.support.messages import storable

    return [
        line
        for code, source in bundle.sources.items()
        for path, content in source.files.items()
        for line in (
            f"source   {path} ({source.reference}, {code})",
            *(f"  | {storable(text)}" for text in content.decode(errors="backslashreplace").split("\n") if is_whole),
        )
    ]


def check_line(check: "Check") -> str:
    """Return one line on a run."""
    from data_pipelines.support.messages import one_line

    words = {True: "agree", False: "DIFFER", None: "not recorded"}
    text = check.error or ", ".join(f"{name} {words[same]}" for name, same in check.agreement.items())
    mark = coloured("ok      ", GREEN) if check.agrees else coloured("FAILED  ", RED)
    return f"{mark} {check.run.key[:12]} {one_line(f'{_setting(check)} seed {check.run.seed}')}: {text}"


def _setting(check: "Check") -> str:
    from benchmark.plan.runs import front_text

    method = check.run.method
    front = front_text(method.info.symbol, method.front_value) if method.info.parameter else ""
    return f"{method.name} {front} on {check.run.stream.name}".replace("  ", " ")
