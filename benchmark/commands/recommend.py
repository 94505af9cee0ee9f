"""Recommend what to show, and whether to share, for your data and your budget.

Examples:
  fedbandit recommend purchases.csv --budget 10/client
  fedbandit recommend lastfm --budget 5000
  fedbandit recommend online-retail-profile --budget 1MB
  fedbandit recommend purchases.csv                     a table over budgets
  fedbandit recommend sales.csv --user-column who --skip-bad-rows
  fedbandit recommend sales.csv --json > week-12.json
  fedbandit recommend sales.csv --since week-11.json    what has changed

DATA is a prepared data set, a task of the board, or a CSV or Parquet file with
one row per interaction, which is imported first, with the options below if it
needs some (`fedbandit data import --interactions FILE --dry-run` shows how it
is read). A budget is a number of full
transfers per client (10/client), per client and day, week or month
(3/client/day), per decision (0.1/decision) or in total (5000), or of bytes per
client (5MB/client) or in total (1MB).
Counted are the transfers that are needed for the same choices.

The usual methods take part, and others that you name with --method (`fedbandit
list` shows all; module:Class is your own).

Settings are chosen on some seeds and reported on others. The runs are recorded
in MLflow; the same command continues after an interruption, and repeats nothing.

The page has the whole answer, to read and to send on. Its name follows that of
DATA, also if the file has grown. --json prints the whole answer for programs
(docs/answers.md has the fields).

The exit code is 2 for bad input, 130 after Ctrl-C.
"""

import argparse
import math
import os
import re
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmark.commands import add_jobs_option, add_method_option, check_minimum, interrupted
from benchmark.commands.data import add_import_options, import_options
from data_pipelines.support.text import BOLD, GREEN, WIDTH, YELLOW, coloured, cut, wrapped

if TYPE_CHECKING:
    from benchmark.recommend.decision import Option
    from benchmark.recommend.document import DataUsed
    from benchmark.recommend.recommendation import Recommendation
    from benchmark.statistics.intervals import Interval

ORDER = 1
BUDGET_WIDTH, CELL_WIDTH = 17, 19
MIN_GROWTH = 1e6
"""Bytes by which a store must grow for a line on it."""

HASH = re.compile(r"-[0-9a-f]{8}$")
"""The end of the name of a data set whose file has changed since the first one was imported."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "data", metavar="DATA", help="a prepared data set, a task, a CSV or Parquet file, or module:NAME"
    )
    parser.add_argument("--budget", metavar="BUDGET", help="10/client, 5000 or 1MB (default: a table over budgets)")
    parser.add_argument("--out", metavar="FILE", help="the page (default: recommendations/DATA.html)")
    parser.add_argument("--json", action="store_true", help="print the whole answer as JSON, and nothing else")
    parser.add_argument("--since", metavar="FILE", help="say what has changed since this answer, made with --json")
    add_method_option(parser, "a further method beside the usual ones; module:Class is your own (repeatable)")
    add_jobs_option(parser)
    parser.add_argument(
        "--configurations",
        type=int,
        metavar="N",
        help="settings per method, at most (default: 48, or 16 for more than 50,000 decisions)",
    )
    parser.add_argument(
        "--by",
        choices=("hits", "value"),
        default="hits",
        help="what decides: how many recommendations are taken (the default), or their value (see --value-column)",
    )
    add_import_options(parser)


def run(arguments: argparse.Namespace) -> int:
    """Play a small board, print the answer and write the page."""
    from benchmark.observer import SweepDisplay
    from benchmark.recommend.document import changes, data_used, document, to_json
    from benchmark.recommend.recommend import recommend
    from benchmark.records.size import store_size
    from benchmark.records.store import Store
    from benchmark.results.budget import as_budget
    from reports.page.recommendation import write_recommendation

    check_minimum(arguments, jobs=1, configurations=1)
    if arguments.budget is not None:
        as_budget(arguments.budget)
    page, earlier, store = _page(arguments), _earlier(arguments), Store()
    before = store_size(store.uri)
    try:
        answer = recommend(
            arguments.data,
            arguments.budget,
            arguments.jobs,
            store,
            observer=SweepDisplay(),
            configurations=arguments.configurations,
            options=import_options(arguments),
            methods=arguments.method,
            by=arguments.by,
        )
    except KeyboardInterrupt:
        return interrupted()
    after, command = store_size(store.uri), shlex.join(["fedbandit", *arguments.words])
    used = data_used(answer)
    content = document(answer, used, command)
    changed = changes(earlier, content) if earlier else []
    write_recommendation(page, answer, used, command, changed)
    if arguments.json:
        print(to_json({**content, "changes": changed, "page": str(page)}))
    else:
        print("\n".join(["", *answer_lines(answer, used, changed), ""]))
        print(f"repeat   {command}")
        print(f"page     {page}")
    if before and after and (growth := after - before).total >= MIN_GROWTH:
        names = f"board_{HASH.sub('', answer.profile.name)}*"  # also those on earlier contents of a file
        delete = f"to delete old answers: fedbandit runs delete --experiment {shlex.quote(names)} --before DATE"
        print(wrapped(f"The store grew by {growth}; {delete}", ""), file=sys.stderr)
    return 0


def _page(arguments: argparse.Namespace) -> Path:
    """Return where the page goes; find out before the runs whether it can be written after them."""
    from benchmark.recommend.document import page_name

    path = Path(arguments.out or Path("recommendations") / f"{page_name(arguments.data)}.html").expanduser()
    folder = next(parent for parent in path.absolute().parents if parent.exists())
    if path.is_dir() or not folder.is_dir() or not os.access(path if path.exists() else folder, os.W_OK):
        raise ValueError(f"--out must be a file that can be written, got {str(path)!r}")
    if path.suffix.lower() == ".json":
        raise ValueError(f"--out must be a page, such as page.html, got {str(path)!r}; --json prints: --json > FILE")
    return path


def _earlier(arguments: argparse.Namespace) -> dict[str, Any] | None:
    """Return the answer to compare with, on the same data."""
    from benchmark.recommend.document import check_same_data, read_document

    if arguments.since is None:
        return None
    earlier = read_document(Path(arguments.since).expanduser())
    check_same_data(earlier, arguments.data, arguments.since)
    return earlier


def answer_lines(answer: "Recommendation", used: "DataUsed", changed: Sequence[str] = ()) -> list[str]:
    """Return the answer: data and pools, the decision, what each option earns, how sure that is, what was used.

    The page has more: other budgets, what was tried without another result, all methods.
    """
    lines = [wrapped(f"{used.shown}, {answer.allowed()}. {answer.pools}".strip(), "")]
    lines += [coloured(wrapped(notice, ""), YELLOW) for notice in (str(answer.label), *answer.notices) if notice]
    lines += ["", coloured(wrapped(answer.answer(), ""), BOLD)]
    lines += [coloured(wrapped(each.sentence(), "  "), YELLOW) for each in answer.depends if each.changes]
    lines += [wrapped(change, "  ") for change in changed]
    lines += ["", *option_lines(answer), *(budget_lines(answer) if answer.budget is None else ()), ""]
    labels = {entry.name: entry.label for entry in answer.result.board.entries}
    missing = [f"{labels[name]} does not take part: {problem}." for name, problem in answer.result.problems.items()]
    left_out = " ".join(note for note in used.notes if "left out" in note)
    of = "" if used.rows is None else f" of {used.rows:,}"
    rows = f"Rows: {used.rows_used:,}{of} used{f', {used.days}' if used.days else ''}. {left_out}".strip()
    return [*lines, *(wrapped(text, "  ") for text in (*evidence(answer), *missing, rows))]


def evidence(answer: "Recommendation") -> list[str]:
    """Return how sure the decision is and what it needs, in a sentence each."""
    from benchmark.recommend.decision import gain_text, percent
    from benchmark.statistics.verdicts import Verdict

    sentences = []
    for gain in answer.decision.gains:
        over = f" over seeds, {percent(gain.clients_low, gain.clients_high)} over clients"
        over = "" if math.isnan(gain.clients_low) else over
        doubt = ", not decided" if gain.verdict is Verdict.UNDECIDED else ""
        sentences.append(f"More than {_short_name(gain.other)}: {gain_text(gain)}{over}{doubt}.")
    if not any(option.kind == "share" for option in answer.decision.options):
        sentences.append("Sharing: no setting within the budget earned more than learning alone.")
    if (holdout := answer.holdout) is not None:
        chosen, later = (_short_name(each.option) for each in (holdout.chosen, holdout.later))
        right = {True: "right", False: f"WRONG, right was {later}", None: "not known"}[holdout.was_right]
        start, end = 100 * (1 - holdout.share), 100 * holdout.share
        since = f", since {holdout.since}" if holdout.since else ""
        sentences.append(
            f"Decided on the first {start:.0f} % of the time: {chosen}; on the last {end:.0f} %{since}: {right}."
        )
    if not math.isnan(answer.first.transfers):
        sentences.append(answer.needs())
    if answer.welcome is not None and answer.decision.kind == "share":
        sentences.append(answer.welcome.sentence())
    return sentences


def _short_name(option: "Option | None") -> str:
    if option is None:
        return "no decision"
    return {"rule": option.name, "alone": "learning alone", "share": "sharing"}[option.kind]


def option_lines(answer: "Recommendation") -> list[str]:
    """Return the table of the options: hits and value per 100 recommendations, score and messages."""
    from benchmark.recommend.recommendation import transfers_text

    random, decision = answer.random, answer.decision
    by_hits = math.isfinite(random.hits[0])
    names = {"alone": "each client learns alone", "share": "clients share"}
    options = [random, *decision.rules, *(each for each in decision.options if each.kind != "rule")]
    has_values = any(math.isfinite(option.value[0]) for option in options)
    columns = ["hits"] * by_hits + ["value"] * has_values + ["score"] * (not by_hits)
    titles = {"hits": "taken of 100", "value": "value of 100", "score": "score"}
    width = WIDTH - CELL_WIDTH * len(columns) - 18
    header = "".join(f"{titles[column]:>{CELL_WIDTH}}" for column in columns)
    lines = [coloured(f"{'':<{width}}{header}{'x random' if by_hits else '':>9}{'messages':>9}", BOLD)]
    for option in options:
        is_decided = option == decision.option
        name = f"{'> ' if is_decided else '  '}{names.get(option.kind, option.name)}"
        cells = "".join(f"{interval_text(getattr(option, column)):>{CELL_WIDTH}}" for column in columns)
        ratio = f"{option.score[0]:.3g}" if by_hits else ""
        transfers = "" if math.isnan(option.transfers) else transfers_text(option.transfers)
        line = f"{cut(name, width - 1):<{width}}{cells}{ratio:>9}{transfers:>9}".rstrip()
        lines.append(coloured(line, GREEN) if is_decided else line)
    seeds = len(answer.result.board.seeds)
    return [*lines, f"  [95 % interval over {seeds} seeds]; messages: full ones needed, per client"]


def budget_lines(answer: "Recommendation") -> list[str]:
    """Return the table over budgets: the best method that learns at each."""
    from benchmark.recommend.recommendation import score_text

    lines = ["", coloured(f"{'budget':<{BUDGET_WIDTH}}{'score':>{CELL_WIDTH}}  best method that learns", BOLD)]
    for limit, line in answer.over_budgets():
        score = line.setting if math.isnan(line.mean) else score_text(line)
        lines.append(f"{answer.limit_text(limit):<{BUDGET_WIDTH}}{score:>{CELL_WIDTH}}  {line.name}")
    return lines


def interval_text(interval: "Interval") -> str:
    """Write a mean with its interval; nothing if it is not known."""
    mean, low, high = interval
    if math.isnan(mean):
        return ""
    return f"{mean:.3g}" + ("" if math.isnan(low) else f" [{low:.3g}; {high:.3g}]")
