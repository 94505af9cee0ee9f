"""The page of a recommendation: the answer, the table, and the front with a budget slider; one file."""

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmark.recommend.recommendation import Recommendation, score_text, setting_of, transfers_text
from benchmark.styles import style
from data_pipelines.support.files import write_whole
from reports.page.page import asset, environment, in_script, packed, plotly_script

MAX_ABOVE = 2
"""References that are further above the best setting than this, in heights from the worst setting or random choice to
the best setting, are named above the chart: on its axis, they would press all settings together."""


def write_recommendation(path: Path, answer: Recommendation) -> None:
    """Write the page."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, recommendation_page(answer).encode())


def recommendation_page(answer: Recommendation) -> str:
    """Return the whole page."""
    board, points = answer.result.board, front_points(answer)
    references = reference_levels(answer, points)
    return (
        environment()
        .get_template("recommendation.html")
        .render(
            title=f"Which method for {answer.profile.name}?",
            answer=answer,
            budgets=[(answer.limit_text(limit), line, score_text(line)) for limit, line in answer.over_budgets()],
            lines=[(line, score_text(line) if math.isfinite(line.mean) else line.setting) for line in answer.lines()],
            transfers_text=transfers_text,
            style=asset("page.css"),
            points=in_script(json.dumps(points, allow_nan=False, ensure_ascii=False)),
            references=in_script(json.dumps(references, allow_nan=False, ensure_ascii=False)),
            has_far_references=any(reference["is_far"] for reference in references),
            limit=board.per_client(answer.limit)
            if math.isfinite(answer.limit)
            else max(each["cost"] for each in points),
            script=asset("unpack.js"),
            plotly=packed(plotly_script()),
        )
    )


def reference_levels(answer: Recommendation, points: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the mean score of each reference over the report seeds, from the highest to the lowest.

    Those with `is_far` are named above the chart with these points; the others are lines in it.
    """
    scores = [point["score"] for point in points]
    random = 1.0 if answer.result.board.scale == "reward" else 0.0
    height = max(scores) - min(random, *scores)
    levels = {entry.label: answer.result.line(entry.name)[0] for entry in answer.result.references}
    return [
        {"label": label, "score": level, "is_far": level > max(scores) + MAX_ABOVE * height}
        for label, level in sorted(levels.items(), key=lambda item: -item[1])
        if math.isfinite(level)
    ]


def front_points(answer: Recommendation) -> list[dict[str, Any]]:
    """Return every setting that was tried: its method, transfers per client and mean score over the choosing seeds.

    Only those that were tried on all choosing seeds can be the best (`is_complete`): the others were left out earlier,
    and their means are not comparable. `reported` is the score on the report seeds, for settings that were chosen.
    """
    board = answer.result.board
    reported = {
        choice.configuration: score_text(answer.line(entry.name, limit))
        for entry in answer.result.contenders
        for limit in answer.result.budgets
        if (choice := answer.result.choice(entry.name, limit)) is not None
    }
    seed_count = sum(len(each.seeds) for each in board.protocol.halving())
    choosing, _ = board.protocol.seeds.split(answer.result.runs)
    groups = choosing.dropna().groupby("configuration")
    scores, communication, seeds = (
        {str(name): float(value) for name, value in column.items()}
        for column in (groups["score"].mean(), groups["communication"].mean(), groups["seed"].nunique())
    )
    return [
        {
            "method": entry.label,
            "colour": style(entry.style).colour,
            "symbol": style(entry.style).symbol,
            "setting": setting_of(name),
            "cost": board.per_client(communication[name]),
            "score": scores[name],
            "seeds": int(seeds[name]),
            "is_complete": seeds[name] == seed_count,
            "reported": reported.get(name, ""),
        }
        for entry in board.playing
        if entry.is_ranked
        for name in entry.configurations
        if name in scores
    ]
