"""The page of a recommendation: what a manager reads first, what was used, and the page in Chromium."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
from selenium.webdriver import Chrome

from benchmark.recommend.decision import Decision, Dependence, Gain, Holdout, Option
from benchmark.recommend.document import changes, check_same_data, data_used, document, page_name
from benchmark.recommend.recommend import recommend
from benchmark.recommend.recommendation import Recommendation
from benchmark.statistics.verdicts import Verdict
from data_pipelines.own_data.options import ImportOptions
from reports.page.recommendation import Bar, bars_of, recommendation_page, summary_of, write_recommendation
from tests.benchmark.browser import looking_at
from tests.reports.test_page_in_browser import SIZES, barriers, requests, set_size, wait_until
from tests.reports.whole_page import without_packed

pytestmark = pytest.mark.slow

JARGON = ("gamma", "alpha", "ridge", "seed", "linucb", "transfer")
BESTSELLERS = Option("rule", "bestsellers", "most-popular", (2.85, 2.8, 2.9), (11.4, 11.3, 11.5), values=(2.85,) * 10)
ALONE = Option(
    "alone",
    "Async-LinUCB",
    "async-linucb[gamma=inf]",
    (2.1, 2.0, 2.2),
    (8.4, 8.0, 8.8),
    transfers=0.0,
    values=(2.1,) * 10,
)
SHARE = Option(
    "share",
    "Async-LinUCB-AM",
    "async-linucb-am[gamma=10]",
    (3.0, 2.9, 3.1),
    (12.0, 11.6, 12.4),
    transfers=7.2,
    values=(3.0,) * 10,
)
RULE_IS_BEST = Decision(
    "rule",
    "Show bestsellers: no federated method earns more on these data.",
    (BESTSELLERS, ALONE),
    (Gain(ALONE, 0.36, 0.3, 0.42, Verdict.BETTER, 0.2, 0.5),),
    (BESTSELLERS,),
)
SHARING_IS_BEST = Decision(
    "share",
    "Share with Async-LinUCB-AM, gamma=10: +5 % [+2; +8] over bestsellers.",
    (BESTSELLERS, ALONE, SHARE),
    (
        Gain(BESTSELLERS, 0.05, 0.02, 0.08, Verdict.BETTER, -0.02, 0.12),
        Gain(ALONE, 1.5, 1.4, 1.6, Verdict.BETTER, 1.2, 1.8),
    ),
    (BESTSELLERS,),
)
REPEATS = Dependence("repeats", "every time that an item is taken", "the first time", SHARING_IS_BEST, changes=True)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with 300 purchases of 12 customers, with words, and a bad row."""
    folder = tmp_path_factory.mktemp("bought")
    lines = [f"u{n % 12},i{(n * n + n // 12) % 40},2024-01-{1 + n % 28:02},w{n % 7} v{n % 5}" for n in range(300)]
    (folder / "sales-2024-03.csv").write_text("\n".join(["customer,sku,date,words", *lines, ",,,"]) + "\n")
    return folder


@pytest.fixture(scope="module")
def answer(same_workers: None, folder: Path) -> Recommendation:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FEDBANDIT_DATA", str(folder / "data"))
        options = ImportOptions(skip_bad_rows=True, repeats="once")
        return recommend(str(folder / "sales-2024-03.csv"), "10/client", 2, configurations=2, options=options)


@pytest.fixture
def bought(answer: Recommendation, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Recommendation:
    """The answer on these purchases, with another decision than that on so few data."""
    monkeypatch.setenv("FEDBANDIT_DATA", str(folder / "data"))
    return replace(answer, decision=RULE_IS_BEST, depends=(), holdout=None)


def test_a_manager_reads_the_decision_the_rates_and_how_sure_it_is(bought: Recommendation):
    summary = summary_of(bought)
    assert summary.title == "Show bestsellers"
    assert summary.reason == "No method that learns from the clients was better on these data."
    assert "11.4 with bestsellers, 8.4 with each client learning on its own, " in summary.rates
    assert summary.rates.endswith(" at random.")
    assert summary.is_sure
    assert summary.certainty == (
        "How sure? Sure, for these data. With what is advised, recommendations were taken 36 % more often than with "
        "each client learning on its own (30 to 42 %)."
    )
    sharing = summary_of(replace(bought, decision=SHARING_IS_BEST, depends=(REPEATS,)))
    assert sharing.title == "Let the clients share what they learn"
    assert sharing.reason == "It needs 7.2 messages per client, of 10 messages per client that are allowed."
    assert not sharing.is_sure
    assert sharing.certainty == (
        "How sure? Not sure: it depends on repeats, see below; with other clients, bestsellers may be better. With "
        "what is advised, recommendations were taken 5 % more often than with bestsellers (2 to 8 %)."
    )
    alone = Decision("alone", "", (BESTSELLERS, ALONE), (Gain(BESTSELLERS, 0.01, -0.1, 0.1, Verdict.UNDECIDED),))
    assert "bestsellers may be better" in summary_of(replace(bought, decision=alone)).certainty
    assert "which may be chance (-10 to +10 %)" in summary_of(replace(bought, decision=alone)).certainty
    wrong = Holdout(0.2, "2024-01-24", SHARING_IS_BEST, RULE_IS_BEST, was_right=False)
    assert "it would have been wrong on the rest, see below" in summary_of(replace(bought, holdout=wrong)).certainty
    assert "would have been right" in summary_of(replace(bought, holdout=replace(wrong, was_right=True))).certainty
    undecided = Decision("undecided", "No decision. Two seeds.", (BESTSELLERS,))
    assert summary_of(replace(bought, decision=undecided)).title == "No decision yet"


def test_every_option_and_random_choice_has_a_bar_the_longest_first(bought: Recommendation):
    first, *others = bars_of(bought)
    assert first == Bar("bestsellers", "11.4", 100.0, is_decided=True)
    assert [bar.name for bar in others] == ["each client learning on its own", "random choice"]
    assert others[0].length == pytest.approx(100 * 8.4 / 11.4)
    assert others[1].length == pytest.approx(100 * bought.random.hits[0] / 11.4)


def test_the_page_says_what_was_used_and_has_no_jargon_before_the_details(bought: Recommendation):
    command = "fedbandit recommend 'my sales.csv' --budget 10/client"
    answer = replace(bought, decision=SHARING_IS_BEST, depends=(REPEATS,))
    page = without_packed(recommendation_page(answer, command=command, changes=["rows: 300 (before: 299)"]))
    above, details = re.split("<h2>Details</h2>", page[page.index("<main>") :])
    manager, used = above.split("<h2>What was used</h2>")
    assert not [word for word in JARGON if word in manager.lower()]
    text = " ".join(re.sub("<[^>]+>", " ", used).split())
    for fact in (
        *data_used(bought).files.values(),
        "rows 300 used of 301 in the file",
        "1 bad row left out: customer must be an id",
        "2024-01-01 to 2024-01-28",
        "12, one for each value of the column customer",
        "fedbandit-bench",
        "fedbandit recommend &#39;my sales.csv&#39; --budget 10/client",
    ):
        assert fact in text
    assert "the advice would be: Let the clients share what they learn." in manager
    assert "rows: 300 (before: 299)" in manager
    assert "async-linucb-am[gamma=10]" in details


def test_the_page_of_a_file_that_grows_keeps_its_name(bought: Recommendation):
    assert page_name("weekly/sales.csv") == "sales"
    assert page_name("lastfm-once") == "lastfm-once"
    earlier = document(bought, data_used(bought), "")
    check_same_data(earlier, "new/sales-2024-04.csv", "last.json")
    with pytest.raises(ValueError, match=r"an answer on the same data, 'clicks\.csv'; that in 'last\.json' is on"):
        check_same_data(earlier, "clicks.csv", "last.json")


def test_what_changed_is_the_decision_the_option_and_gains_beyond_their_intervals(bought: Recommendation):
    used = data_used(bought)
    earlier = document(bought, used, "")
    assert len(changes(earlier, earlier)) == 1
    within = replace(RULE_IS_BEST.gains[0], mean=0.31, low=0.25, high=0.37)
    assert len(changes(earlier, document(decided(bought, within), used, ""))) == 1
    beyond = replace(RULE_IS_BEST.gains[0], mean=0.1, low=0.05, high=0.15)
    first, gain = changes(earlier, document(decided(bought, beyond), used, ""))
    assert first.startswith("The decision is the same as on ")
    assert gain == "gain over learning alone: +10 % [+5; +15] (before: +36 % [+30; +42]), beyond both intervals"
    other = document(replace(bought, decision=SHARING_IS_BEST), replace(used, rows_used=250, last_day="2024-02-03"), "")
    first, *details = changes(earlier, other)
    assert first.startswith("THE DECISION HAS CHANGED since ")
    assert details[0] == "decision: share (before: show what a rule says)"
    assert details[1].startswith("option: Async-LinUCB-AM (async-linucb-am[gamma=10]) (before: bestsellers")
    assert "rows: 250 used of 301" in details[2]
    assert details[3] == "dates: 2024-01-01 to 2024-02-03 (before: 2024-01-01 to 2024-01-28)"


def decided(answer: Recommendation, gain: Gain) -> Recommendation:
    return replace(answer, decision=replace(RULE_IS_BEST, gains=(gain,)))


def test_the_page_fits_has_no_errors_and_no_barriers(bought: Recommendation, tmp_path: Path, chrome: Chrome):
    page = tmp_path / "page.html"
    holdout = Holdout(0.2, "2024-01-24", RULE_IS_BEST, RULE_IS_BEST, was_right=True)
    answer = replace(bought, decision=SHARING_IS_BEST, depends=(REPEATS,), holdout=holdout)
    write_recommendation(page, answer, command="fedbandit recommend sales.csv", changes=["rows: 300 (before: 299)"])
    for name, (width, _, _) in SIZES.items():
        set_size(chrome, name)
        chrome.get_log("browser")
        chrome.get_log("performance")
        with looking_at(chrome, page.as_uri(), f"recommendation-{name}"):
            wait_until(lambda: chrome.execute_script("return document.querySelector('#front .main-svg') !== null"))
            assert chrome.get_log("browser") == []
            assert requests(chrome) == {page.as_uri()}
            assert chrome.execute_script("return document.documentElement.scrollWidth") <= width
            title = chrome.find_element("tag name", "h1").rect
            assert title["y"] + title["height"] < 200
            bars = chrome.execute_script("return [...document.querySelectorAll('.bars i')].map(bar => bar.clientWidth)")
            assert bars == sorted(bars, reverse=True)
            assert min(bars) > 10
            for scheme in ("light", "dark"):
                assert barriers(chrome, scheme) == []
