"""`recommend` on a log of sales: what it depends on, a holdout, values, budgets per week, the clients' interval."""

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmark.__main__ import main
from benchmark.board.result import BoardResult, evaluate, judged_by
from benchmark.recommend.compare import compare
from benchmark.recommend.decision import UNDECIDED, Gain, Option, check, decide, differs, over_clients, welcome
from benchmark.recommend.log import MANY_REPEATS, Case, Log, cases, cases_from
from benchmark.recommend.recommend import recommend
from benchmark.recommend.recommendation import Recommendation
from benchmark.statistics.verdicts import Verdict
from data_pipelines.own_data.options import ImportOptions
from data_pipelines.prepare.prepared import open_prepared
from data_pipelines.stream_spec import dataset_spec

CLIENTS, ITEMS, DAYS = 20, 60, 70
VALUE = "price*quantity"


def write_sales(path: Path, rows: int = 500) -> Path:
    """Write sales of the ten weeks; a third of them are repeats, and some items are ten times as dear as others."""
    random, start = np.random.default_rng(3), date(2024, 3, 1)
    lines = ["customer,product,date,description,price,quantity"]
    for row in range(rows):
        client = int(random.integers(CLIENTS))
        item = (
            int(random.integers(ITEMS // 4)) * 4 + client % 4 if random.random() < 0.8 else int(random.integers(ITEMS))
        )
        day = start + timedelta(days=row * DAYS // (rows - 1))
        lines.append(f"c{client},p{item},{day},thing{item} kind{item % 4},{1 if item % 3 else 10},{row % 2 + 1}")
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("sales")


@pytest.fixture(scope="module")
def answer(folder: Path, same_workers: None) -> Iterator[Recommendation]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FEDBANDIT_DATA", str(folder / "data"))
        options = ImportOptions(value_column=VALUE)
        yield recommend(write_sales(folder / "sales.csv"), "14/client/week", 2, configurations=2, options=options)


def test_repeats_and_negatives_are_also_chosen_otherwise(answer: Recommendation):
    assert answer.log.repeated > MANY_REPEATS
    repeats, negatives = answer.depends
    assert (repeats.used, repeats.other) == (
        "the first time that a client takes an item",
        "every time that an item is taken",
    )
    assert "in proportion to their popularity" in negatives.used
    assert "each equally likely" in negatives.other
    for each in answer.depends:
        assert each.changes == differs(answer.decision, each.decision)
        assert each.sentence().startswith("IT DEPENDS on " if each.changes else "The same with ")
        assert len(each.decision.option.values) == 10
    assert answer.sentences()[0] == answer.pools
    assert answer.pools.startswith(
        "Pools: an item that the client took (the first time that a client takes an item) and 24"
    )


def test_compare_has_the_pools_of_recommend_and_names_them_first(
    answer: Recommendation, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setenv("FEDBANDIT_DATA", str(folder / "data"))
    monkeypatch.chdir(folder)
    compared = compare(["random", "most-popular"], "sales", seeds=[300], budget="2/client/week", jobs=1)
    assert compared.notes[0] == answer.pools
    assert compared.budget.amount == pytest.approx(2 * DAYS / 7)
    same = {(name, seed): outcome.metrics["reward"] for (name, seed), outcome in answer.result.outcomes.items()}
    rewards = {record.method.name: record.metrics["reward"] for record in compared.records}
    assert rewards == {name: same[name, 300] for name in ("random", "most-popular")}
    assert "– needed messages per client" in str(replace(compared, records=compared.records).best())
    words = ["compare", "random", "--dataset", "sales.csv", "--value-column", VALUE, "--seeds", "300", "--jobs", "1"]
    assert main(words) == 0
    assert " ".join(capsys.readouterr().out.split()).startswith(answer.pools)


def test_a_budget_per_week_needs_dates_and_what_is_needed_is_in_its_unit(answer: Recommendation):
    assert answer.log.days == DAYS
    assert answer.result.board.per_client(answer.limit) == pytest.approx(14 * DAYS / 7)
    needed = answer.first.transfers / DAYS * 7
    assert f"{float(f'{needed:.3g}'):,g} transfers per client and week" in answer.needs() or math.isnan(needed)
    assert "of 14 transfers per client and week that are allowed" in answer.needs() or math.isnan(needed)


def test_hits_and_values_are_per_100_recommendations(answer: Recommendation):
    board = answer.result.board
    for option in answer.decision.options:
        metrics = [answer.result.outcomes[option.configuration, seed].metrics for seed in board.seeds]
        hits = np.mean([each["reward"] for each in metrics]) / board.steps * 100
        assert option.hits[0] == pytest.approx(hits)
        assert option.hits[1] < option.hits[0] < option.hits[2]
        assert option.value[0] == pytest.approx(np.mean([each["value"] for each in metrics]) / board.steps * 100)
        assert option.value[0] > option.hits[0]
    assert "Taken per 100 recommendations: " in answer.rates()
    assert "Value taken per 100 recommendations: " in answer.rates()


def test_by_value_the_scores_are_shares_of_the_value(answer: Recommendation):
    by_value = judged_by(answer.result, "normalised_value")
    stream = by_value.board.task.stream.bound().build(300)
    outcome = by_value.outcomes["most-popular", 300]
    chance = (stream.rewards.mean(axis=1) * stream.values).sum()
    assert by_value.lines["most-popular"][300] == pytest.approx(outcome.metrics["value"] / chance)
    assert by_value.lines["most-popular"] != answer.result.lines["most-popular"]


Change = Callable[[str, int], float]


def with_metric(answer: Recommendation, change: Change, *goals: str) -> BoardResult:
    """Return the result of the same board, with other scores of every configuration."""
    board, known = answer.result.board, answer.result.outcomes
    some = {name: outcome for (name, _), outcome in known.items()}
    outcomes = {}
    for name, seed in itertools.product(some, (*board.protocol.seeds.choosing.seeds, *board.seeds)):
        outcome = known.get((name, seed), some[name])
        outcomes[name, seed] = replace(outcome, metrics={**outcome.metrics, **dict.fromkeys(goals, change(name, seed))})
    return evaluate(board, outcomes)


def scores(best: str, height: float = 1.0) -> Change:
    """Scores of about 2, and of more for configurations whose name starts so."""
    return lambda name, seed: 2 + 0.01 * ((len(name) + seed) % 7) + (height if name.startswith(best) else 0)


def test_the_holdout_chooses_on_the_first_part_and_checks_on_the_last(answer: Recommendation):
    assert 0.15 < answer.holdout.share < 0.25
    assert answer.holdout.since == "2024-04-20"
    result, limit = answer.result, answer.limit
    earlier = with_metric(answer, scores("rocchio"), "normalised_reward")
    right = check(earlier, judged_by(with_metric(answer, scores("rocchio"), "later"), "later"), limit)
    assert (right.chosen.option.name, right.was_right) == ("items like those that each client took before", True)
    wrong = check(earlier, judged_by(with_metric(answer, scores("most-popular"), "later"), "later"), limit)
    assert wrong.was_right is False
    assert wrong.later.option.configuration == "most-popular"
    assert "It would have been WRONG on the last 20%: Show bestsellers" in wrong.sentence()
    few = replace(result.board, seeds=result.board.seeds[:5])
    few_seeds = evaluate(few, result.outcomes)
    assert decide(few_seeds, limit).kind == UNDECIDED
    unknown = check(few_seeds, few_seeds, limit)
    assert unknown.was_right is None
    assert "could not be checked" in unknown.sentence()


def test_the_parts_of_the_time_add_up(answer: Recommendation):
    stream = answer.result.board.task.stream.bound().build(300)
    first = stream.first_later_step
    metrics = answer.result.outcomes["most-popular", 300].metrics
    parts = {"earlier": first, "later": stream.steps - first}
    rewards = [metrics[f"normalised_reward_{part}"] * steps / stream.arms for part, steps in parts.items()]
    assert sum(rewards) == pytest.approx(metrics["reward"])


def test_the_interval_over_clients_is_that_of_their_differences(answer: Recommendation):
    other = Option("rule", "", "", (1.0, 1.0, 1.0))
    gain = Gain(other, 0.5, 0.4, 0.6, Verdict.BETTER)
    clients = dict.fromkeys(range(100), 10.0)
    same = over_clients(gain, dict.fromkeys(clients, 15.0), clients)
    assert (same.clients_low, same.clients_high) == pytest.approx((0.5, 0.5))
    one = over_clients(gain, {client: 510.0 if client == 7 else 10.0 for client in clients}, clients)
    assert one.clients_low < 0 < one.mean < one.clients_high  # one client alone earns all of it
    assert over_clients(gain, {1: 2.0}, {1: 1.0}) == gain  # a single client
    assert all(math.isfinite(each.clients_low) for each in answer.decision.gains)


def test_welcome_is_priced_against_the_same_method_without_it(answer: Recommendation):
    def change(name: str, seed: int) -> float:
        return 2 + seed % 3 * 0.01 + ("welcome" in name and "gamma=inf" not in name)

    result = with_metric(answer, change, "normalised_reward")
    priced = welcome(result, answer.limit)
    assert "welcome=True" in priced.option.configuration
    assert priced.gain.verdict is Verdict.BETTER
    assert priced.gain.mean == pytest.approx(0.5, abs=0.02)
    needed = [result.needed(option.configuration) for option in (priced.option, priced.gain.other)]
    assert priced.messages == pytest.approx(result.board.per_client(needed[0] - needed[1]))
    assert "Send new clients the current model" in priced.sentence()


def log_of(**changes: Any) -> Log:
    fields = {"clients": 10, "interactions": 1000, "repeated": 0.0, "most_taken": 0.1, "has_times": True, "days": 30.0}
    texts = {"name": "sales", "since": "2024-03-01", "until": "2024-03-31", "has_ratings": False, "has_values": False}
    return Log(**{**fields, **texts, **changes})


def streams(log: Log, repeats: Any = None) -> list[dict[str, Any]]:
    made = cases(dataset_spec(dataset="sales"), log, repeats)
    return [{"choice": case.choice, **case.task.stream.model_dump(exclude_defaults=True)} for case in made]


def test_the_choices_fit_the_log():
    plain = {"dataset": "sales", "order": "time"}
    main, other = streams(log_of())
    assert main == {**plain, "choice": "", "negatives": "popularity"}
    assert other == {**plain, "choice": "the other items of a pool"}
    main, other = streams(log_of(most_taken=0.4))
    assert main == {**plain, "choice": "", "negatives": "not-then", "repeats": "once"}
    assert other["negatives"] == "popularity"
    main, kept, other = streams(log_of(repeated=0.3))
    assert [each.get("repeats", "keep") for each in (main, kept, other)] == ["once", "keep", "once"]
    assert (main["negatives"], kept["negatives"]) == ("popularity", "not-then")
    assert not any("repeats" in each for each in streams(log_of(repeated=0.3), "keep"))
    assert [each["choice"] for each in streams(log_of(repeated=0.1))] == ["", "the other items of a pool"]
    undated = streams(log_of(repeated=0.3, most_taken=0.9, has_times=False, since=""))
    assert {each.get("negatives", "uniform") for each in undated} == {"popularity", "uniform"}
    assert not any("order" in each for each in undated)
    rated, sampled = streams(log_of(has_ratings=True))
    assert rated == {"choice": "", "dataset": "sales", "pools": "rated"}
    assert (sampled["negatives"], sampled["order"]) == ("popularity", "time")


def test_of_a_large_log_a_sample_is_played_and_the_first_line_says_so():
    main, *_ = cases(dataset_spec(dataset="sales"), log_of(interactions=300_000))
    assert main.task.stream.max_events == 100_000
    assert main.pools.endswith("A sample of the clients, with at most 100,000 of the interactions.")
    assert cases(dataset_spec(dataset="sales"), log_of(interactions=100_000))[0].task.stream.max_events is None


def test_an_easy_test_is_called_easy(answer: Recommendation):
    easy, hard = (replace(answer.profile, popularity=popularity).sentences()[2] for popularity in (2.0, 1.9))
    assert easy.endswith("so this is an easy test.")
    assert hard == easy.replace("earns 2 ", "earns 1.9 ").replace(
        ": popularity alone goes far, so this is an easy test", ""
    )
    assert "a row is one interaction, whatever its quantity (quantity)" in " ".join(answer.profile.notes).lower()


def test_a_task_states_its_choices():
    log, (case,) = cases_from("lastfm-once")
    assert log is None
    assert isinstance(case, Case)
    assert case.task.name == "lastfm-once"


def test_a_log_of_prepared_data(answer: Recommendation, folder: Path):
    prepared = open_prepared("sales", folder / "data")
    log = Log.of(prepared)
    assert (log.clients, log.interactions, log.since, log.until) == (CLIENTS, 500, "2024-03-01", "2024-05-10")
    pairs = {*zip(prepared.users.tolist(), prepared.items.tolist(), strict=True)}
    assert log.repeated == pytest.approx(1 - len(pairs) / 500)
    assert log.has_values
    assert log == answer.log


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ("--budget", "3/client/day"),
            "a budget per day must be used with data whose times are dates, got 3 transfers",
        ),
        (("--by", "value"), "by = 'value' needs data with values (--value-column)"),
        (
            ("--value-column", "price"),
            "price must be a number from 0 (it is a value), got '-2' (2 rows); --skip-bad-rows",
        ),
        (("--value-column", "price*size"), "has no column 'size' (did you mean user?), see --value-column"),
    ],
)
def test_what_a_file_lacks_is_one_line(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    words: tuple[str, ...],
    message: str,
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FEDBANDIT_DATA", str(tmp_path / "data"))
    rows = [f"u{n % 9},i{n % 31},{(-2, '')[n % 2] if n < 2 else 3}" for n in range(200)]
    Path("undated.csv").write_text("\n".join(["user,item,price", *rows]) + "\n")
    assert main(["recommend", "undated.csv", *words]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert message in line
