"""Boards of the size of the full one with made-up outcomes: nothing is played, and no data are needed."""

import hashlib
import math
from collections.abc import Sequence
from dataclasses import replace
from functools import cache

import pandas as pd

from algorithms.stream import StreamOutline
from benchmark.board.board import Board, Outcome, Outcomes, RunName, wanted
from benchmark.board.document import to_json
from benchmark.board.entries import MethodRow, board_filters, make_entry, reference_filters, with_fixed
from benchmark.board.result import evaluate
from benchmark.board.task import experiment_name, load_task
from benchmark.board.task_facts import TaskFacts
from benchmark.plan.method_names import MethodFilter, hyper_parameters, make_method, method_info
from benchmark.protocol import load_protocol
from benchmark.records.record import MethodRecord, RunRecord, StreamRecord
from benchmark.results.frames import run_frame
from data_pipelines.stream_spec import SimulatedSpec
from reports.labels import Methods
from reports.read.boards import StoredBoard
from reports.read.results import Results

GAINS = {
    "delicious-matched": {"one model": -0.1, "personal": 0.0, "clustered": -0.1, "private": -0.3},
    "simulated-clusters": {"one model": -0.3, "personal": 0.02, "clustered": 0.2, "private": -0.4},
    "simulated-spread": {"one model": 0.0, "personal": 0.08, "clustered": 0.01, "private": -0.1},
}
"""What a full message per decision changes in the score, by task and kind of method."""

USUAL_GAINS = {"one model": 0.2, "personal": 0.15, "clustered": 0.1, "private": 0.05}
STEPS, CLIENTS, ARMS = 30_000, 1_000, 25


def made_up_board(task_name: str, methods: Sequence[str] = (), *, seeds: int = 20) -> Board:
    """Return the board of a task by its shipped protocol, on seeds for tries.

    The contenders are all, or the named methods without variants and with the paper's values.
    """
    task, protocol = load_task(task_name), load_protocol()
    is_simulated = isinstance(task.stream, SimulatedSpec)
    rows = board_filters([], protocol.comparison.reference)
    if methods:
        rows = with_fixed([MethodFilter(name, {}) for name in methods], protocol, is_simulated=is_simulated)
    has_held_out_users = getattr(task.stream, "features", "words") != "words"
    outline = StreamOutline(task.stream.name, ARMS, has_held_out_users=has_held_out_users)
    entries = [make_entry(row, protocol, 0.1) for row in (*rows, *reference_filters(outline))]
    source = "simulated" if is_simulated else "official"
    return Board(task, protocol, tuple(entries), protocol.seeds.trying.seeds[:seeds], 0.1, source, STEPS, CLIENTS)


def made_up_outcomes(board: Board) -> dict[RunName, Outcome]:
    """Return an outcome for each run that the board needs."""
    rows = {name: entry for entry in board.playing for name in entry.configurations}
    outcomes: dict[RunName, Outcome] = {}
    while names := wanted(board, outcomes):
        outcomes |= {(name, seed): _outcome(board, rows[name], name, seed) for name, seed in names}
    return outcomes


@cache
def made_up_stored(task_name: str, methods: tuple[str, ...] = (), seeds: int = 20) -> StoredBoard:
    """Return a stored board with made-up runs."""
    board = made_up_board(task_name, methods, seeds=seeds)
    return stored(board, made_up_outcomes(board))


def stored(board: Board, outcomes: Outcomes) -> StoredBoard:
    """Return a board with these outcomes as it is stored, with facts about its task."""
    board = replace(board, facts=_facts(board, outcomes))
    name = experiment_name(board.task, board.protocol)
    records = {record.key: record for record in _records(board, outcomes, name)}
    return StoredBoard(name, to_json(board, outcomes), records)


def results_of(*boards: StoredBoard) -> Results:
    """Return the results of a store with nothing but these boards, without the users of any."""
    records = [record for board in boards for record in board.records.values()]
    results = Results(run_frame([]), "sqlite:////nowhere/mlflow.db", boards=boards, methods=Methods.of(records))
    results.board_users.update({board.experiment: pd.DataFrame() for board in boards})
    return results


def _outcome(board: Board, entry: MethodRow, configuration: str, seed: int) -> Outcome:
    """Return a run whose score follows from task, kind of method, communication, α and λ, with noise by seed."""
    values = entry.configurations[configuration]
    key = hashlib.sha256(f"{board.task.name} {configuration} {seed}".encode()).hexdigest()
    noise, further = (int(key[start : start + 8], 16) / 16**8 - 0.5 for start in (0, 8))
    grid = list(entry.grids.get(entry.front, ()))
    place = grid.index(values[entry.front]) / (len(grid) - 1) if len(grid) > 1 else 0.0
    amount = 0.0 if place == 0 else 10 ** (-2 + 2.3 * place) * (1 + 0.05 * further)
    gain = GAINS.get(board.task.name, USUAL_GAINS).get(entry.kind, 0.0) * min(amount, 1.0) ** 0.3
    own = 0.6 + 0.8 * int(hashlib.sha256(entry.name.encode()).hexdigest()[:6], 16) / 16**6
    penalty = 0.01 * abs(math.log10(float(values.get("ridge", 1.0)) + 0.1))
    penalty += 0.03 if values.get("alpha") == "theory" else 0.03 * float(values.get("alpha", 0.0))
    score = 0.6 + gain * own - penalty if entry.is_contender else 0.5
    score += 0.01 * math.sin(seed) + 0.012 * noise
    metrics = {"needed_per_decision": amount, "communication": 1.7 * amount * STEPS}
    if board.scale == "reward":
        metrics["normalised_reward"] = 1.0 if entry.role == "baseline" else 0.8 + score
    else:
        by_chance = 1000.0 + seed % 7
        metrics["regret"] = by_chance if entry.role == "baseline" else by_chance * (1 - score)
    return Outcome(key, metrics, run_id=key[:32])


def _facts(board: Board, outcomes: Outcomes) -> TaskFacts:
    """Return facts in which the score rises with the number of the decision, for all chosen configurations alike."""
    groups = board.protocol.facts.groups
    rising = tuple(tuple(0.5 + 0.1 * place for place, _ in enumerate(groups)) for _ in board.seeds)
    one_ranking = dict.fromkeys(board.seeds, 1.45) if board.scale == "reward" else {}
    chosen = evaluate(board, outcomes).chosen
    return TaskFacts((12, 24, 51), 0.0123, one_ranking, groups, dict.fromkeys(chosen, rising))


def _records(board: Board, outcomes: Outcomes, experiment: str) -> list[RunRecord]:
    spec, prepared = board.task.stream, "" if board.source == "simulated" else "prepared"
    sizes = {"steps": STEPS, "clients": CLIENTS, "arms": ARMS, "dimension": 25}
    methods: dict[str, MethodRecord] = {}
    streams: dict[int, StreamRecord] = {}
    finished = {run: outcome for run, outcome in outcomes.items() if not outcome.error}
    for name, seed in finished:
        if name not in methods:
            method, values = board.parameters[name]
            info, parameters = method_info(method), hyper_parameters(make_method(method, dict(values)))
            methods[name] = MethodRecord(info.as_recorded(), info.version, parameters)
        if seed not in streams:
            streams[seed] = StreamRecord(
                spec.name, board.source, f"{spec.name} {seed}", prepared, spec.settings(), sizes
            )
    return [
        RunRecord(each.run_id, each.key, experiment, seed, streams[seed], methods[name], each.metrics)
        for (name, seed), each in finished.items()
    ]
