"""The examples, links and commands of the README and the other pages work as written."""

import re
from pathlib import Path

import pytest

from tests.benchmark.tiny_sweeps import fedbandit, statuses
from tests.readme import FENCED, README, ROOT, blocks, commands, example_file

PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")])
LINK = re.compile(r"\]\(([^)#\s]+)(#[^)\s]*)?\)")


def test_the_algorithm_runs_with_the_others_and_appears_on_the_leaderboard(tmp_path: Path):
    (tmp_path / "gossip.py").write_text(example_file("gossip.py"))
    (run,) = commands("run fig_a --algorithm")
    done = fedbandit(tmp_path, *run)
    assert done.returncode == 0, done.stderr
    assert statuses(tmp_path) == {"FINISHED": 2 * (8 + 6 + 2)}  # γ, D, and two periods, on two seeds
    (report,) = commands("report fig_a")
    assert fedbandit(tmp_path, *report).returncode == 0
    ranking = (
        tmp_path / "reports" / "output" / "fig_a" / "tables" / "leaderboard_fig_a_simulated-uniform.md"
    ).read_text()
    assert re.search(r"\| Gossip \(gossip\) \| 2 \| 2 \|.*\| period=\d+ \|", ranking)  # settings, seeds, the best
    assert "Async-LinUCB" in ranking


def test_the_experiment_runs_and_has_a_report(tmp_path: Path):
    (tmp_path / "patience.toml").write_text(example_file("patience.toml"))
    (run,) = commands("run patience.toml")
    done = fedbandit(tmp_path, *run)
    assert done.returncode == 0, done.stderr
    assert statuses(tmp_path) == {"FINISHED": 2 * 2 * (7 + 5)}
    (report,) = commands("report patience")
    assert fedbandit(tmp_path, *report).returncode == 0
    assert (tmp_path / "reports" / "output" / "patience" / "report.html").stat().st_size > 1_000_000


def test_own_tables_are_imported_without_code(tmp_path: Path):
    clicks = "".join(f"{n % 5},{n},{n + 1}\n" for n in range(60))
    (tmp_path / "clicks.csv").write_text("customer,sku,at\n" + clicks)
    titles = "".join(f"{n},word{n % 7} other{n % 11} more{n}\n" for n in range(60))
    (tmp_path / "items.csv").write_text("sku,title\n" + titles)
    (arguments,) = commands("data import")
    done = fedbandit(tmp_path, *arguments)
    assert done.returncode == 0, done.stderr
    assert 'dataset = "shop"' in done.stdout
    assert "shop" in fedbandit(tmp_path, "list").stdout


def test_the_python_example_prints_regret_and_communication(capsys: pytest.CaptureFixture[str]):
    (example,) = (code for code in blocks("python") if "replay(" in code)
    exec(compile(example, "README.md", "exec"), {})
    regret, communication = map(float, capsys.readouterr().out.split())
    assert 0 < regret < 30_000
    assert communication > 0


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_link_has_a_target(page: Path):
    links = [link for link, _ in LINK.findall(page.read_text()) if not link.startswith(("http://", "https://"))]
    assert [link for link in links if not (page.parent / link).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_mentioned_make_target_exists(page: Path):
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    mentioned = set(re.findall(r"(?:`|^)make ([a-z-]+)", page.read_text(), re.MULTILINE))
    assert mentioned <= targets


def test_every_experiment_is_in_the_readme():
    from benchmark.plan.experiment import experiment_names

    readme = (ROOT / "README.md").read_text()
    assert [name for name in experiment_names() if f"`{name}`" not in readme] == []


def test_prose_of_the_readme_wraps_at_100_characters():
    prose = FENCED.sub("", README.read_text()).splitlines()
    assert [line for line in prose if len(line) > 100 and not line.startswith("|")] == []
