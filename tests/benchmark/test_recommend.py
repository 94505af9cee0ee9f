"""`recommend` and `fedbandit recommend`: the answer, its honesty, the page, bad input."""

import argparse
import itertools
import json
import math
import re
import shlex
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from selenium.webdriver import Chrome

from benchmark.board.board import run_table
from benchmark.commands.recommend import configure
from benchmark.recommend.data import leak_notices
from benchmark.recommend.decision import decide
from benchmark.recommend.document import data_used, document, to_json
from benchmark.recommend.log import cases_from
from benchmark.recommend.recommend import recommend
from benchmark.recommend.recommendation import Recommendation, score_text
from benchmark.statistics.verdicts import Verdict
from data_pipelines.stream_spec import StreamSpec, simulated_spec
from data_pipelines.support.files import sha256_of
from reports.page.recommendation import front_points, recommendation_page, reference_levels, write_recommendation
from tests.benchmark.browser import looking_at
from tests.benchmark.conftest import write_purchases
from tests.benchmark.statistics.shipped import CHOOSING_SEEDS
from tests.benchmark.tiny_sweeps import Command
from tests.readme import DOCS
from tests.reports.whole_page import without_packed

SMALL = simulated_spec("uniform", steps=300, clients=10, arms=5, dimension=4)


@pytest.fixture(scope="module")
def answer(same_workers: None) -> Recommendation:
    return recommend(SMALL, "10/client", jobs=2, configurations=6)


def test_the_method_is_chosen_on_choosing_seeds_and_reported_on_others(answer: Recommendation):
    result = answer.result
    scores = {entry.name: result.choice(entry.name, answer.limit) for entry in result.contenders if entry.is_ranked}
    assert answer.best == max(scores, key=lambda name: scores[name].score)
    chosen = scores[answer.best].configuration
    seeds = {seed for name, seed in result.outcomes if name == chosen}
    assert {*range(300, 310)} <= seeds
    assert not seeds & {*range(200, 220)}
    reported = [result.outcomes[chosen, seed].metrics["regret"] for seed in range(300, 310)]
    chance = [result.outcomes[result.board.baseline, seed].metrics["regret"] for seed in range(300, 310)]
    expected = np.mean([1 - own / by_chance for own, by_chance in zip(reported, chance, strict=True)])
    assert answer.line(answer.best, answer.limit).mean == pytest.approx(expected)


def test_the_recommended_setting_stays_within_the_budget(answer: Recommendation):
    assert answer.limit == 10 * 10 / 300  # messages per decision
    assert answer.result.choice(answer.best, answer.limit).communication <= answer.limit
    assert list(answer.table["budget"]) == pytest.approx([0.0, 1.0, 10.0, 100.0, math.inf])


def test_the_answer_names_both_extremes_and_how_sure_it_is(answer: Recommendation):
    names = [line.name for line in answer.lines()]
    assert {"never communicating", "always communicating"} < {*names}
    assert len({*names}) == len(names)
    assert len(answer.certainty()) >= len(answer.decision.gains) == len(answer.decision.options) - 1
    assert "10 seeds that were not used for choosing" in answer.certainty()[0]
    assert len(answer.other_budgets()) == 2
    assert answer.plan_text().startswith("Plan: ")
    assert "smaller than the benchmark protocol" in answer.plan_text()
    assert "<table" in answer._repr_html_()
    assert answer.answer() in repr(answer)
    assert len(repr(answer)) < 500


def test_every_row_is_compared_with_the_decision(answer: Recommendation):
    first, *others = answer.lines()
    assert first.name == answer.decision.option.name
    assert not first.verdict
    assert all(line.verdict for line in others)
    same = [line.name for line in others if line.verdict == "identical"]
    assert same in ([], ["never communicating"])


def with_rule_at(answer: Recommendation, name: str, *scores: float) -> Recommendation:
    """Return the same answer, decided with a rule that has these scores on the report seeds, in turn."""
    line = {seed: scores[place % len(scores)] for place, seed in enumerate(answer.result.board.seeds)}
    result = replace(answer.result, lines={**answer.result.lines, name: line})
    return replace(answer, result=result, decision=decide(result, answer.limit))


def test_a_rule_that_can_be_deployed_is_the_decision_unless_a_method_is_shown_to_earn_more(answer: Recommendation):
    best = max(option.score[0] for option in answer.decision.options)
    shown = with_rule_at(answer, "most-popular", best + 10.0, best + 11.0)
    assert shown.answer() == "Show bestsellers: no federated method earns more on these data."
    assert shown.lines()[0].name == "Bestsellers"
    assert {gain.verdict for gain in shown.decision.gains} == {Verdict.BETTER}
    assert not shown.footnotes()
    open_question = with_rule_at(answer, "most-popular", best - 0.4, best + 0.3)
    assert open_question.answer() == ("Show bestsellers: no federated method is shown to earn more on these data.")
    poor = with_rule_at(answer, "most-popular", -1.0, -1.1)
    assert poor.decision.kind != "rule"
    assert "over bestsellers" in poor.answer() or "over learning alone" in poor.answer()
    assert "% [" in poor.answer()


def test_a_rule_that_exploits_the_pools_is_a_footnote(answer: Recommendation):
    best = max(option.score[0] for option in answer.decision.options)
    exploited = with_rule_at(answer, "never-offered", best + 10.0, best + 11.0)
    assert exploited.answer() == answer.answer()
    (footnote,) = exploited.footnotes()
    assert "exploit how the pools are drawn" in footnote
    assert "Never offered before, then most seen" in footnote
    assert footnote in recommendation_page(exploited)


def test_the_page_has_every_setting_that_was_tried_and_no_other_host(answer: Recommendation):
    points = front_points(answer)
    tried = {name for name, seed in answer.result.outcomes if seed in CHOOSING_SEEDS}
    ranked = {name for entry in answer.result.board.playing if entry.is_ranked for name in entry.configurations}
    assert len(points) == len(tried & ranked)
    page = recommendation_page(answer)
    embedded = json.loads(re.search(r"const points = (\[.*?\]);", page)[1])
    assert embedded == points
    assert 'type="range"' in page
    assert not re.search(r'(?:src|href)="https?://', without_packed(page))


def with_a_lucky_setting(answer: Recommendation) -> Recommendation:
    """Return the same answer, but a setting that was not chosen was tried on one seed only, without any regret."""
    result = answer.result
    choices = {name for each in result.selections.values() for name in each.configurations.values()}
    ranked = [name for entry in result.contenders if entry.is_ranked for name in entry.configurations]
    lucky = next(name for name in ranked if name not in choices)
    outcomes = {run: outcome for run, outcome in result.outcomes.items() if run[0] != lucky}
    first = result.outcomes[lucky, 10_000]
    outcomes[lucky, 10_000] = replace(first, metrics={**first.metrics, "regret": 0.0, "needed_per_decision": 0.0})
    return replace(answer, result=replace(result, outcomes=outcomes, runs=run_table(result.board, outcomes)))


def test_only_settings_that_were_tried_on_all_choosing_seeds_can_be_the_best_on_the_page(answer: Recommendation):
    points = front_points(with_a_lucky_setting(answer))
    complete = [point for point in points if point["is_complete"]]
    assert {point["seeds"] for point in complete} == {3}
    lucky = max((point for point in points if not point["is_complete"]), key=lambda point: point["score"])
    assert (lucky["seeds"], lucky["score"], lucky["cost"], lucky["reported"]) == (1, 1.0, 0.0, "")
    assert lucky["score"] > max(point["score"] for point in complete)
    for limit in answer.result.budgets:
        allowed = [point for point in complete if point["cost"] <= answer.result.board.per_client(limit) * (1 + 1e-9)]
        best = max(allowed, key=lambda point: point["score"])
        line = answer.line(answer.best_at(limit), limit)
        assert (best["method"], best["setting"], best["reported"]) == (line.name, line.setting, score_text(line))


LEVELS = """
return [front.layout.shapes.filter(shape => shape.xref === "paper").map(shape => shape.y0),
  front.layout.annotations.map(label => label.text.replaceAll("<br>", " ")), front._fullLayout.yaxis.range]
"""
LABEL_BOXES = """
return [...document.querySelectorAll("#front .annotation-text-g")].map(label => label.getBoundingClientRect())
  .map(box => [box.top, box.bottom, box.right])
"""


@pytest.mark.slow
def test_the_chart_has_a_labelled_line_for_each_rule_that_can_be_deployed_and_for_random_choice(
    answer: Recommendation, tmp_path: Path, chrome: Chrome
):
    page = tmp_path / "page.html"
    best = max(point["score"] for point in front_points(answer))
    names = [*answer.result.lines]
    scores = {"most-popular": 3 * best, "never-offered": 90.0} | {name: 0.2 + 0.001 * n for n, name in enumerate(names)}
    scores["most-popular"] = 3 * best
    lines = {name: dict.fromkeys(answer.result.board.seeds, score) for name, score in scores.items()}
    result = replace(answer.result, lines={name: lines[name] for name in names})
    answer = replace(answer, result=result, decision=decide(result, answer.limit))
    write_recommendation(page, answer)
    references = reference_levels(answer)
    assert [each["label"] for each in references[:1]] == ["bestsellers"]
    assert len(references) == 1 + len(answer.decision.rules) < len(scores)
    for width in (1280, 390):
        size = {"width": width, "height": 844, "deviceScaleFactor": 1, "mobile": width < 1000}
        chrome.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        with looking_at(chrome, page.as_uri(), f"recommendation-references-{width}"):
            levels, labels, (low, high) = chrome.execute_script(LEVELS)
            assert levels == pytest.approx([reference["score"] for reference in references])
            assert low < min(levels) < best < max(levels) < high < 4 * best
            assert labels[0] == f"bestsellers: {3 * best:.3}"
            boxes = chrome.execute_script(LABEL_BOXES)
            assert len(boxes) == len(labels) == len(references)
            assert all(upper[1] <= lower[0] + 3 for upper, lower in itertools.pairwise(boxes))
            assert max(right for _, _, right in boxes) <= width


@pytest.mark.slow
def test_the_page_fits_a_desktop_and_a_phone_and_its_slider_changes_the_setting(
    answer: Recommendation, tmp_path: Path, chrome: Chrome
):
    page = tmp_path / "page.html"
    answer = with_a_lucky_setting(answer)
    write_recommendation(page, answer)
    points = front_points(answer)
    complete = [point for point in points if point["is_complete"]]
    cheapest = max((point for point in complete if point["cost"] == 0), key=lambda point: point["score"])
    own = answer.line(answer.best, answer.limit)
    for width in (1280, 390):
        size = {"width": width, "height": 844, "deviceScaleFactor": 1, "mobile": width < 1000}
        chrome.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        with looking_at(chrome, page.as_uri(), f"recommendation-{width}"):
            widths = "return [document.documentElement.scrollWidth, front.querySelector('svg').clientWidth]"
            assert max(chrome.execute_script(widths)) <= width
            assert chrome.execute_script("return limit.textContent") == "10"
            text = chrome.execute_script("return choice.textContent")
            assert text.startswith(f"Best within it: {own.name}, {own.setting}: {score_text(own)} in other repetitions")
            chrome.execute_script("budget.value = 0; budget.dispatchEvent(new Event('input'))")
            assert cheapest["setting"] in chrome.execute_script("return choice.textContent")


def stream_from(path: Path) -> StreamSpec:
    return cases_from(str(path))[1][0].task.stream


def test_a_leak_in_the_features_is_named_in_the_answer_and_on_the_page(
    answer: Recommendation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("FEDBANDIT_DATA", str(tmp_path / "data"))
    assert answer.notices == leak_notices(SMALL) == ()
    (notice,) = leak_notices(stream_from(write_purchases(tmp_path)))
    assert notice.startswith("LEAK: Features were made of the same interactions that are predicted: a leak.")
    assert "--items FILE" in notice
    with_leak = replace(answer, notices=(notice,))
    assert notice in str(with_leak)
    assert f'<p class="warning">{notice}</p>' in recommendation_page(with_leak)
    with_words = tmp_path / "with_words.csv"
    with_words.write_text("user,item,words\n" + "".join(f"{n % 9},{n % 31},word{n % 31}\n" for n in range(200)))
    assert leak_notices(stream_from(with_words)) == ()


def test_the_command_answers_from_a_file_in_80_columns_and_resumes(shop: Path, fedbandit_here: Command):
    command = ("recommend", "purchases.csv", "--budget", "10/client", "--jobs", "2", "--configurations", "4")
    first = fedbandit_here(shop, *command)
    assert first.returncode == 0, first.stderr
    data, *_ = first.stdout.strip().split("\n\n")
    assert data.startswith("purchases.csv, at most 10 transfers per client. Pools: ")
    assert "LEAK: Features were made of the same interactions" in data
    for text in ("random choice", "bestsellers", "each client learns alone", "taken of 100", "Rows: 300 of 300 used"):
        assert text in first.stdout
    *lines, repeat, page = first.stdout.splitlines()
    assert repeat == f"repeat   fedbandit {' '.join(command)}"
    assert page == "page     recommendations/purchases.html"
    assert max(map(len, lines)) <= 80
    assert (shop / "recommendations" / "purchases.html").stat().st_size > 100_000
    assert len(lines) <= 34  # of which the leak takes six, and four are blank
    growth = r"The store grew by [\d.]+ MB \(database [\d.]+ MB, files [\d.]+ MB\); to delete old answers: fed"
    assert re.search(growth, " ".join(first.stderr.split()))
    again = fedbandit_here(shop, *command)
    assert again.stdout == first.stdout
    assert "runs done" not in again.stderr  # nothing is repeated
    assert "The store grew" not in again.stderr
    machine = fedbandit_here(shop, *command, "--json")
    content = json.loads(machine.stdout)  # and nothing else
    assert content["data"]["files"] == {"interactions": sha256_of(shop / "purchases.csv")}
    assert content["decision"]["headline"].partition(" ")[0] in first.stdout
    assert fields_of(content) <= documented_fields()
    (shop / "last.json").write_text(machine.stdout)
    unchanged = fedbandit_here(shop, *command, "--since", "last.json")
    assert f"Nothing has changed since {content['date']}: the same decision, option," in unchanged.stdout
    changed = content | {"data": content["data"] | {"rows_used": 299}}
    (shop / "last.json").write_text(json.dumps(changed))
    since = json.loads(fedbandit_here(shop, *command, "--since", "last.json", "--json").stdout)
    first_change, *others = since["changes"]
    assert first_change == f"The decision is the same as on {content['date']}; what has changed:"
    assert others == ["rows: 300 used of 300 (before: 299 used of 300)"]
    assert others[0] in (shop / "recommendations" / "purchases.html").read_text()


def fields_of(content: object) -> set[str]:
    """Return the names of all fields of a document, but for those of files and versions, which are names of things."""
    if isinstance(content, list):
        return set().union(*map(fields_of, content))
    if not isinstance(content, dict):
        return set()
    inner = (fields_of(value) for name, value in content.items() if name not in ("files", "versions"))
    return {*content}.union(*inner)


def documented_fields() -> set[str]:
    """Return the names in the table of fields in the documentation."""
    section = (DOCS / "answers.md").read_text(encoding="utf-8").partition("## For programs")[2].partition("\n## ")[0]
    return {*re.findall(r"`([a-z_]+)`", section)}


def test_a_file_is_read_with_the_options_that_messages_name_and_compared_by_budget(shop: Path, fedbandit_here: Command):
    text = (shop / "purchases.csv").read_text()
    (shop / "bad.csv").write_text(f"{text}{',' * text.partition(chr(10))[0].count(',')}\n")
    command = ("recommend", "bad.csv", "--jobs", "2", "--configurations", "4")
    assert "--skip-bad-rows leaves such rows out" in fedbandit_here(shop, *command).stderr
    done = fedbandit_here(shop, *command, "--skip-bad-rows", "--repeats", "keep")
    assert done.returncode == 0, done.stderr
    note = "1 bad row left out: customer must be an id."
    assert note in " ".join(done.stdout.split())
    assert f"<p>{note.removesuffix('.')}</p>" in (shop / "recommendations" / "bad.html").read_text()
    for text in ("no communication", "2 per client", "10 per client", "100 per client", "unlimited"):
        assert text in done.stdout


def words_with_every_option(parser: argparse.ArgumentParser) -> list[str]:
    """Return a value for each option of a parser."""
    words = []
    for action in parser._actions:
        if action.option_strings and action.dest != "help":
            value = [*action.choices][-1] if action.choices else "5000"
            words += [action.option_strings[-1], *([] if action.nargs == 0 else [value])]
    return words


def test_the_command_to_repeat_a_recommendation_has_every_option_that_was_given(
    answer: Recommendation, tmp_path: Path, fedbandit_here: Command, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(sys.modules["benchmark.recommend.recommend"], "recommend", lambda *_, **options: answer)
    parser = argparse.ArgumentParser()
    configure(parser)
    words = ["recommend", "a 'b' $c.csv", *words_with_every_option(parser)]
    assert {"--configurations", "--skip-bad-rows", "--words-column", "--out", "--json", "--since", "--by"} < {*words}
    earlier = document(answer, data_used(answer), "")
    earlier["data"]["given"] = "a 'b' $c.csv"
    (tmp_path / "5000").write_text(to_json(earlier))  # the value of every option
    assert shlex.split(json.loads(fedbandit_here(tmp_path, *words).stdout)["command"]) == ["fedbandit", *words]
