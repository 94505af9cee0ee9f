"""The examples, numbers and commands of the README and the other pages work as written."""

import re
from pathlib import Path

import numpy as np
import pytest

from tests.benchmark.tiny_sweeps import RUNS, Command, statuses, write_tiny
from tests.readme import DOCS, FENCED, PAGES, README, ROOT, blocks, commands, example_file
from tests.tools.committed import read_committed
from tests.tools.first_table import ALONE, HOW_OFTEN, METHODS, ONE_MODEL, TWO_MODELS, sentences
from tests.tools.prose import BLOCK
from tests.tools.renew import renewed

pytestmark = pytest.mark.slow

WRAPPED = (
    README,
    *(DOCS / f"{name}.md" for name in ("citing", "cluster", "experiments", "glossary", "install", "ui")),
    *(DOCS / f"{name}.md" for name in ("own_data", "own_method", "own_metric")),
    *(DOCS / f"{name}.md" for name in ("reference/command_line", "reference/python")),
)
WITH_INTERVAL = re.compile(r"\d[\d.,]* \[[^\]]+; [^\]]+\]")


def test_the_algorithm_runs_with_the_others_and_is_listed_with_them(tmp_path: Path, fedbandit_here: Command):
    (tmp_path / "gossip.py").write_text(example_file("gossip.py"))
    (run,) = commands("run fig_a --method", DOCS / "own_method.md")
    done = fedbandit_here(tmp_path, *run, "--seeds", "1")
    assert done.returncode == 0, done.stderr
    assert statuses(tmp_path) == {"FINISHED": 8 + 6 + 1 + 2}  # γ, D, random choice, and two periods
    (report,) = commands("report fig_a", DOCS / "own_method.md")
    assert fedbandit_here(tmp_path, *report).returncode == 0
    listed = (tmp_path / "reports" / "output" / "fig_a" / "tables" / "settings_fig_a_simulated-uniform.md").read_text()
    assert re.search(r"\| Gossip \(gossip\) \| period=50 \|\s+\| 1 \|", listed)  # one seed
    assert "Async-LinUCB" in listed


def test_the_clients_and_the_server_are_measured_on_a_quick_board(tmp_path: Path, fedbandit_here: Command):
    (tmp_path / "own_fedlinucb.py").write_text(example_file("own_fedlinucb.py"))
    (board,) = commands("board simulated-uniform --quick --method own_fedlinucb", DOCS / "own_method.md")
    done = fedbandit_here(tmp_path, *board, "--dry-run")
    assert done.returncode == 0, done.stderr
    name = board[board.index("--method") + 1]
    done = fedbandit_here(tmp_path, "run", write_tiny(tmp_path), "--method", f"{name}[gamma=2]", "--seeds", "1")
    assert done.returncode == 0, done.stderr
    assert statuses(tmp_path) == {"FINISHED": RUNS // 2 + 1}


def test_the_clients_and_the_server_are_compared_with_a_built_in_method(tmp_path: Path, fedbandit_here: Command):
    (tmp_path / "own_fedlinucb.py").write_text(example_file("own_fedlinucb.py"))
    rows = "".join(f"{n % 7},{n % 30},{n}\n" for n in range(90))
    (tmp_path / "clicks.csv").write_text("user,item,time\n" + rows)
    (compare,) = commands("compare async-linucb own_fedlinucb", DOCS / "own_method.md")
    compare[compare.index("lastfm")] = "clicks.csv"
    done = fedbandit_here(tmp_path, *compare, "--seeds", "1", "--points", "2")
    assert done.returncode == 0, done.stderr
    assert "OwnFedLinUCB" in done.stdout


def test_the_experiment_runs_and_has_a_report(tmp_path: Path, fedbandit_here: Command):
    (tmp_path / "patience.toml").write_text(example_file("patience.toml"))
    (run,) = commands("run patience.toml", DOCS / "experiments.md")
    done = fedbandit_here(tmp_path, *run)
    assert done.returncode == 0, done.stderr
    assert statuses(tmp_path) == {"FINISHED": 2 * 2 * (7 + 5)}
    (report,) = commands("report patience", DOCS / "experiments.md")
    assert fedbandit_here(tmp_path, *report).returncode == 0
    assert (tmp_path / "reports" / "output" / "patience" / "report.html").stat().st_size > 1_000_000


def test_own_tables_are_imported_run_and_compared_within_a_budget(
    tmp_path: Path, fedbandit_here: Command, capsys: pytest.CaptureFixture[str]
):
    page = DOCS / "own_data.md"
    clicks = "".join(f"{n % 5},{n},{n + 1}\n" for n in range(60))
    (tmp_path / "clicks.csv").write_text("customer,sku,at\n" + clicks)
    titles = "".join(f"{n},word{n % 7} other{n % 11} more{n}\n" for n in range(60))
    (tmp_path / "items.csv").write_text("sku,title\n" + titles)
    (arguments,) = commands("data import", page)
    done = fedbandit_here(tmp_path, *arguments)
    assert done.returncode == 0, done.stderr
    assert "next     fedbandit recommend shop" in done.stdout
    assert "shop" in fedbandit_here(tmp_path, "list").stdout
    (tmp_path / "shop.toml").write_text(example_file("shop.toml"))
    compare, confirm = commands("run shop.toml", page)
    done = fedbandit_here(tmp_path, *compare)
    assert done.returncode == 0, done.stderr
    assert statuses(tmp_path) == {"FINISHED": 3 * (9 + 9 + 7)}
    (report,) = commands("report shop", page)
    assert fedbandit_here(tmp_path, *report, "--only", "figures").returncode == 0
    (example,) = (code for code in blocks("python", page) if "read_csv" in code)
    exec(compile(example, "own_data.md", "exec"), {})
    header, *rows = capsys.readouterr().out.splitlines()
    assert header.split() == ["algorithm", "threshold", "normalised_reward", "communication"]
    assert len(rows) == 3
    assert all(float(row.split()[-1]) <= 50 for row in rows)
    done = fedbandit_here(tmp_path, *confirm)
    assert done.returncode == 0, done.stderr
    assert statuses(tmp_path) == {"FINISHED": 3 * (9 + 9 + 7) + 10}


def test_the_python_example_of_the_readme_prints_what_is_below_it(capsys: pytest.CaptureFixture[str]):
    (example,) = blocks("python", README)
    (output,) = blocks("text", README)
    exec(compile(example, "README.md", "exec"), {})
    assert capsys.readouterr().out == output


def test_the_python_example_for_one_method_prints_regret_and_communication(capsys: pytest.CaptureFixture[str]):
    (example,) = (code for code in blocks("python", DOCS / "own_method.md") if "replay(" in code)
    exec(compile(example, "own_method.md", "exec"), {})
    regret, communication = map(float, capsys.readouterr().out.split())
    assert 0 < regret < 30_000
    assert communication > 0


def test_every_number_with_an_interval_in_the_readme_is_generated_from_the_records():
    assert WITH_INTERVAL.findall(BLOCK.sub("", README.read_text())) == []
    results = read_committed()
    assert renewed(README.read_text(), results) == README.read_text()


def test_the_rows_of_figure_d_on_both_copies_are_from_its_table_and_compare_equal_thresholds():
    page = (DOCS / "results.md").read_text()
    rows = re.findall(r"\n\| (.+) \(γ = (\S+)\) \| (\S+) \| (.+) \| .+ \|", page)
    assert len(rows) == 5
    thresholds = [
        {row[1] for row in rows if row[0].startswith(model)} for model in ("one model", "a shared and a local")
    ]
    assert thresholds == [{"1", "9,001"}] * 2
    _, _, figure_d = (DOCS / "tables" / "thresholds.md").read_text().partition("<!-- renewed: fig_d -->")
    expected = [
        f"| Async-LinUCB{'-AM' if 'local model' in text else ''} | {gamma} | 10 | {reward} | {messages} ["
        for text, gamma, messages, reward in rows
    ]
    assert [row for row in expected if row not in figure_d.partition("<!-- end -->")[0]] == []


def test_the_words_below_the_first_table_follow_from_the_differences_by_seed():
    alone = np.linspace(6, 7, 10)
    noise = np.tile([-1.0, 1.0], 5)
    rewards = {ALONE: alone} | {(model, gamma): alone - 1 + 0.01 * noise for model in METHODS for gamma in HOW_OFTEN}
    rewards[TWO_MODELS, 9001.0] = alone + noise
    rewards[TWO_MODELS, 1.0] = alone + 1 + 0.01 * noise
    text = sentences(rewards, rewards)
    assert "One model for all: shared rarely, it earns less (−1.0000 [" in text
    assert "; shared after every step, it earns less (−1.0000 [" in text
    assert "shared rarely, it is not shown to earn more or less (0.00 [−0.75; 0.75])" in text
    assert "shared after every step, it earns more (1.0000 [" in text
    assert text.endswith("With the package's copy, the same holds.")
    other = sentences(rewards, {**rewards, (ONE_MODEL, 1.0): alone + 2 + 0.01 * noise})
    assert "With the package's copy, one model for all, shared after every step, earns more (2.0000 [" in other


def test_every_mentioned_make_target_exists():
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    mentioned = {name for page in PAGES for name in re.findall(r"(?:`|^)make ([a-z-]+)", page.read_text(), re.M)}
    assert mentioned <= targets


def test_continuous_integration_executes_the_two_commands_of_the_readme():
    executed = re.findall(r"^(make \w+)$", (ROOT / ".ci" / "run").read_text(), re.MULTILINE)
    assert executed == ["make benchmark", "make test"]
    (quick_start, *_) = blocks("sh", README)
    assert [command for command in executed if f"\n{command} " not in quick_start] == []


def test_every_experiment_is_described():
    from benchmark.plan.experiment import experiment_names

    page = (DOCS / "experiments.md").read_text()
    assert [name for name in experiment_names() if f"`{name}`" not in page] == []


def test_the_readme_is_short():
    assert len(README.read_text().splitlines()) <= 120


def test_prose_wraps_at_100_characters():
    prose = [line for page in WRAPPED for line in FENCED.sub("", page.read_text()).splitlines()]
    assert [line for line in prose if len(line) > 100 and not line.startswith("|")] == []
