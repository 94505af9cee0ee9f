"""The whole answer as a JSON document, and what has changed since an earlier one.

The fields are described in docs/answers.md. Numbers that are not known are null.
"""

import json
import math
import platform
import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import Any

from benchmark.recommend.data import import_notes, is_file_name
from benchmark.recommend.decision import Decision, Gain, Holdout, Option, Welcome
from benchmark.recommend.log import Log
from benchmark.recommend.recommendation import Line, Recommendation
from benchmark.statistics.intervals import Interval
from data_pipelines.prepare.prepared import open_prepared
from data_pipelines.stream_spec import DatasetSpec
from data_pipelines.support.messages import one_line

FORMAT = "fedbandit recommendation 1"
MAX_BYTES = 50_000_000
PACKAGES = ("fedbandit-bench", "numpy", "numba")


@dataclass(frozen=True)
class DataUsed:
    """What an answer is based on.

    Attributes:
        given: the data as the user named them.
        name: the name of the prepared data set.
        files: the sha256 of each file, by `interactions` and `items`; of a data set that is built in, of its members.
        rows: the rows of the file; None for data sets that are built in.
        rows_used: the interactions that were used.
        notes: what was left out, and why.
        first_day: of the interactions; empty if they have no dates.
        last_day: likewise.
        clients: the column whose values are the clients; empty for data sets that are built in.
    """

    given: str
    name: str
    files: Mapping[str, str]
    rows: int | None
    rows_used: int
    notes: tuple[str, ...]
    first_day: str = ""
    last_day: str = ""
    clients: str = ""

    @property
    def shown(self) -> str:
        """The name of the file, or of the data set."""
        return Path(self.given).name if is_file_name(self.given) else self.name

    @property
    def days(self) -> str:
        """The first and the last day, in words; empty if they are not known."""
        return f"{self.first_day} to {self.last_day}" if self.first_day else ""


def page_name(given: str) -> str:
    """Return the name of the page, from that of the file or data set: the content of a file does not change it."""
    return Path(given).name.partition(".")[0] if is_file_name(given) else given


def data_used(answer: Recommendation) -> DataUsed:
    """Return what an answer is based on; simulations have no files and no rows."""
    stream = answer.result.board.task.stream
    if not isinstance(stream, DatasetSpec):
        return DataUsed(answer.data, answer.profile.name, {}, None, answer.profile.steps, ())
    bound = stream.bound()
    prepared = open_prepared(bound.dataset, bound.data.folder)
    log = answer.log or Log.of(prepared)
    manifest, is_imported = prepared.manifest, prepared.manifest["source"] == "imported"
    return DataUsed(
        answer.data,
        answer.profile.name,
        {name: str(value) for name, value in manifest["members"].items()},
        manifest["rows"]["observed"]["interactions"] if is_imported else None,
        len(prepared.users),
        import_notes(stream),
        log.since,
        log.until,
        clients=str(manifest["parameters"]["columns"]["user"]) if is_imported else "",
    )


def versions() -> dict[str, str]:
    """Return the versions of Python and of the packages that decide what is computed."""
    return {"python": platform.python_version()} | {name: version(name) for name in PACKAGES}


def document(answer: Recommendation, used: DataUsed, command: str) -> dict[str, Any]:
    """Return the whole answer, with the command that repeats it."""
    decision, board = answer.decision, answer.result.board
    content: dict[str, Any] = _without_nan(
        {
            "format": FORMAT,
            "date": str(date.today()),
            "command": command,
            "versions": versions(),
            "data": {
                **asdict(used),
                "label": str(answer.label),
                "leaks": [*answer.notices],
                "pools": answer.pools,
                "client_count": answer.profile.clients,
                "decisions": answer.profile.steps,
                "arms": answer.profile.arms,
                "dimension": answer.profile.dimension,
            },
            "budget": {
                "given": None if answer.budget is None else str(answer.budget),
                "transfers_per_client": board.per_client(answer.limit),
            },
            "by": answer.by,
            "score_unit": answer.unit.strip(),
            **_decision(decision),
            "gains": [_gain(gain) for gain in decision.gains],
            "needs": answer.needs(),
            "rules": [_option(rule) for rule in decision.rules],
            "random_choice": _option(answer.random),
            "depends": [
                {"choice": each.choice, "used": each.used, "other": each.other, "changes": each.changes}
                | _decision(each.decision)
                for each in answer.depends
            ],
            "holdout": answer.holdout and _holdout(answer.holdout),
            "welcome": answer.welcome and _welcome(answer.welcome),
            "budgets": [
                {"transfers_per_client": board.per_client(limit), **_line(line)}
                for limit, line in answer.over_budgets()
            ],
            "methods": [_line(line) for line in answer.lines()],
            "footnotes": answer.footnotes(),
            "seeds": {
                "choosing": sum(len(each.seeds) for each in board.protocol.halving()),
                "reported": len(board.seeds),
            },
            "plan": answer.plan_text(),
        }
    )
    return content


def _holdout(holdout: Holdout) -> dict[str, Any]:
    parts = {"chosen": _decision(holdout.chosen), "later": _decision(holdout.later)}
    return {"share": holdout.share, "since": holdout.since, "was_right": holdout.was_right, **parts}


def _welcome(welcome: Welcome) -> dict[str, Any]:
    return {"option": _option(welcome.option), "gain": _gain(welcome.gain), "messages": welcome.messages}


def to_json(content: Mapping[str, Any]) -> str:
    """Return a document as JSON text."""
    return json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False)


def _decision(decision: Decision) -> dict[str, Any]:
    return {
        "decision": {"kind": decision.kind, "headline": decision.headline},
        "options": [_option(option) for option in decision.options],
    }


def _option(option: Option) -> dict[str, Any]:
    intervals = {name: _interval(getattr(option, name)) for name in ("score", "hits", "value")}
    about = {"kind": option.kind, "name": option.name, "configuration": option.configuration}
    return {**about, **intervals, "transfers_per_client": option.transfers}


def _gain(gain: Gain) -> dict[str, Any]:
    return {
        "over": gain.other.kind,
        "verdict": str(gain.verdict),
        "share": _interval((gain.mean, gain.low, gain.high)),
        "over_clients": {"low": gain.clients_low, "high": gain.clients_high},
    }


def _line(line: Line) -> dict[str, Any]:
    return {
        "method": line.name,
        "setting": line.setting,
        "score": _interval((line.mean, line.low, line.high)),
        "needed_transfers_per_client": line.transfers,
        "hits": _interval(line.hits),
        "value": _interval(line.value),
        "verdict": line.verdict,
    }


def _interval(interval: Interval) -> dict[str, float] | None:
    mean, low, high = interval
    return None if math.isnan(mean) else {"mean": mean, "low": low, "high": high}


def _without_nan(value: Any) -> Any:
    """Return a document as JSON has it: null for what is not a finite number."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(name): _without_nan(each) for name, each in value.items()}
    return [_without_nan(each) for each in value] if isinstance(value, list | tuple) else value


def read_document(path: Path) -> dict[str, Any]:
    """Return an earlier answer; a file that is none is an error of one line."""
    expected = one_line(f"--since must be a file that `fedbandit recommend --json` wrote, got {str(path)!r}")
    try:
        if path.stat().st_size > MAX_BYTES:
            raise ValueError
        content = json.loads(path.read_text(encoding="utf-8"))
        is_answer = content["format"] == FORMAT
        _facts(content)
    except OSError as error:
        raise ValueError(f"{expected}: {error.strerror}") from None
    except (ValueError, KeyError, TypeError, RecursionError):
        raise ValueError(expected) from None
    if not is_answer:
        raise ValueError(f"{expected}, of format {one_line(str(content['format'])[:60])!r}")
    return dict(content)


def check_same_data(earlier: Mapping[str, Any], given: str, name: str) -> None:
    """Refuse to compare answers on different data, before any run.

    A file may have another number or date in its name than last time.
    """
    before = str(earlier["data"]["given"])
    if _series(before) != _series(given) or is_file_name(before) != is_file_name(given):
        reason = one_line(f"--since must be an answer on the same data, {given!r}; that in {name!r} is on {before!r}")
        raise ValueError(reason)


def _series(given: str) -> str:
    """Return what the names of a file have in common that is exported again and again."""
    return re.sub(r"[\W\d_]", "", Path(given).stem).lower() if is_file_name(given) else given


def _facts(content: Mapping[str, Any]) -> dict[str, str]:
    """Return what can change, in words, by name."""
    data, decision = content["data"], content["decision"]
    option = next((each for each in content["options"] if each["kind"] == decision["kind"]), None)
    rows = f"{data['rows_used']:,} used" + ("" if data["rows"] is None else f" of {data['rows']:,}")
    return {
        "decision": KINDS[decision["kind"]],
        "option": "none" if option is None else f"{option['name']} ({option['configuration']})",
        "budget": str(content["budget"]["given"] or "none"),
        "rows": rows,
        "dates": f"{data['first_day']} to {data['last_day']}" if data["first_day"] else "unknown",
        "clients": f"{data['client_count']:,}",
        "pools": str(data["pools"]),
        "left out": "; ".join(data["notes"]) or "nothing",
        "version": str(content["versions"]["fedbandit-bench"]),
    }


KINDS = {
    "rule": "show what a rule says",
    "alone": "let each client learn alone",
    "share": "share",
    "undecided": "no decision",
}
"""The decision in words."""


def changes(earlier: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """Return what has changed since an earlier answer on the same data, one sentence each; the first sums it up."""
    before, after = _facts(earlier), _facts(now)
    different = [name for name in after if before[name] != after[name]]
    lines = [f"{name}: {after[name]} (before: {before[name]})" for name in different]
    lines += _changed_gains(earlier, now)
    since = earlier["date"]
    if not lines:
        return [f"Nothing has changed since {since}: the same decision, option, gains, rows and dates."]
    if "decision" in different:
        return [f"THE DECISION HAS CHANGED since {since}.", *lines]
    return [f"The decision is the same as on {since}; what has changed:", *lines]


def _changed_gains(earlier: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[str]:
    """Yield the gains whose intervals, then and now, have nothing in common, if the decision is the same."""
    if earlier["decision"]["kind"] != now["decision"]["kind"]:
        return
    then = {gain["over"]: gain["share"] for gain in earlier["gains"]}
    for gain in now["gains"]:
        old, new = then.get(gain["over"]), gain["share"]
        if old and new and (new["low"] > old["high"] or new["high"] < old["low"]):
            yield f"gain over {OTHERS[gain['over']]}: {_percent(new)} (before: {_percent(old)}), beyond both intervals"


OTHERS = {"rule": "the best rule", "alone": "learning alone", "share": "sharing"}


def _percent(share: Mapping[str, float]) -> str:
    return "{:+.3g} % [{:+.3g}; {:+.3g}]".format(*(100 * share[name] for name in ("mean", "low", "high")))
