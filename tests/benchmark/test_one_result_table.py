"""Each thing about results is computed in one place: means over seeds, names of settings, tables of runs."""

import ast
import re
from collections import Counter

from tests.readme import ROOT, sources

FRAMES = "benchmark/results/frames.py"
FILES = sources("benchmark", "reports")

ONCE = {
    *("run_frame", "setting_frame", "latest_runs", "over_seeds", "setting_texts", "variants", "cost", "threshold_text"),
    *("differing_names", "describe", "tidy_frame", "family_of", "stream_name", "plan_of", "best_within"),
}
"""Functions that exist once, in any module."""

OF_OTHER_VALUES = {
    "benchmark/board/result.py": "scores of a method within a budget",
    "benchmark/recommend/decision.py": "scores of an option",
    "reports/analysis/claims.py": "numbers of a claim",
    "reports/analysis/decisions.py": "scores by the decision number of a client",
    "reports/analysis/directions.py": "differences and trends by seed",
}
"""Modules that compute a mean with its interval, but not of the runs of a setting."""


def modules_with(pattern: str) -> set[str]:
    found = re.compile(pattern)
    return {str(path.relative_to(ROOT)) for path in FILES if found.search(path.read_text(encoding="utf-8"))}


def test_means_over_the_seeds_of_a_setting_are_computed_in_one_module():
    modules = {name for name in modules_with(r"\bmean_interval\(") if not name.startswith("benchmark/statistics/")}
    assert FRAMES in modules
    assert modules <= {FRAMES, *OF_OTHER_VALUES}


def test_settings_are_named_in_one_module():
    """A planned run has a name, too, before there are results."""
    assert modules_with(r"symbol\}=\{") <= {FRAMES, "benchmark/plan/runs.py"}
    assert modules_with(r'"gamma_upload"') <= {FRAMES}


def test_functions_on_results_exist_once():
    names = Counter(
        node.name
        for path in FILES
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.FunctionDef)
    )
    assert {name: names[name] for name in ONCE} == dict.fromkeys(ONCE, 1)
