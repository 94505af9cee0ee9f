"""The page of results: its tables are generated from a store, its text stays as it is."""

import re
from fnmatch import fnmatch
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq
import pytest

from reports.analysis.users import EXPERIMENT
from reports.published import FILE
from reports.read.results import Results
from reports.tables import bounds, claims, settings, user_groups
from tests.tools.committed import ABOUT, BOARD_CHOOSING, BOARD_RUNS, BOARDS, GROUPS, RUNS, read_committed, update, write
from tests.tools.prose import BLOCK, filled, typed_numbers, typed_verdicts, wrong_paragraphs
from tests.tools.published import published
from tests.tools.renew import DOCS, PICTURES, TEMPLATE, renewed

pytestmark = pytest.mark.slow


def test_tables_are_updated_and_the_text_is_kept(results: Results):
    names = ("directions", "numbers", "sizes", "fig_a", "user_groups_delicious")
    page = "Before.\n" + "".join(f"<!-- renewed: {name} -->\nold\n<!-- end -->\nAfter {name}.\n" for name in names)
    text = renewed(page, results)
    assert text.startswith("Before.\n<!-- renewed: directions -->\n| variant | data |")
    assert "\nold\n" not in text
    for name in names:
        assert re.search(rf"<!-- renewed: {name} -->\n\|.*\n\|[-:|]+\|\n\|", text), name
        assert f"<!-- end -->\nAfter {name}.\n" in text
    assert "| Async-LinUCB | ∞ | 2 | 1,005 (no interval) | 0 (no interval) |" in text
    assert renewed(text, results) == text
    with pytest.raises(StopIteration):
        renewed("<!-- renewed: study_nonsense -->\n<!-- end -->", results)


def test_the_page_in_the_repository_has_all_its_tables_and_pictures():
    page = (DOCS / "results.md").read_text()
    blocks = {block["name"]: block.group() for block in BLOCK.finditer(page)}
    assert len(blocks) == page.count("<!-- renewed: ") == page.count("<!-- end -->")
    assert [name for name, text in blocks.items() if text.count("\n| ") < 3] == []
    pictures = re.findall(r"\(pictures/([^)]+)\)", page)
    assert {f"fig_{letter}.png" for letter in "abcdef"} <= set(pictures)
    assert all((PICTURES / name).stat().st_size < 100_000 for name in pictures)


BLOCKS = ("claims", "directions", "numbers", "sizes", "equal_regret", "fig_a", "user_groups_delicious", "made")


def test_the_page_can_be_rebuilt_from_its_records_without_the_store(results: Results, tmp_path: Path):
    page = "".join(f"<!-- renewed: {name} -->\n<!-- end -->\n" for name in BLOCKS)
    write(results, tmp_path)
    again = read_committed(tmp_path)
    assert again.uri == "docs/records"
    assert renewed(page, again) == renewed(page, results)


def test_an_update_replaces_runs_of_earlier_versions_of_a_method_and_keeps_the_others(results: Results, tmp_path: Path):
    write(results, tmp_path)
    before = pd.read_parquet(tmp_path / RUNS)
    update(results, tmp_path)
    assert sorted(pd.read_parquet(tmp_path / RUNS)["run_id"]) == sorted(before["run_id"])  # nothing is there twice
    earlier = before.assign(record=before["record"].str.replace(r'\\"version\\":\d+', r'\\"version\\":0', regex=True))
    earlier["record"] = earlier["record"].str.replace(r'("key": ?")', r"\1earlier", regex=True)
    assert earlier["record"].str.contains('"earlier').all()
    elsewhere = earlier.head(3).assign(experiment="not in the store")
    earlier.to_parquet(tmp_path / RUNS)
    update(results, tmp_path)
    assert sorted(pd.read_parquet(tmp_path / RUNS)["run_id"]) == sorted(before["run_id"])
    pd.concat([earlier, elsewhere]).to_parquet(tmp_path / RUNS)
    update(results, tmp_path)
    assert len(pd.read_parquet(tmp_path / RUNS)) == len(before) + 3
    read_committed(tmp_path)


def test_the_records_have_no_row_of_a_data_set_and_no_path(results: Results, tmp_path: Path):
    write(results, tmp_path)
    files = [RUNS, GROUPS, ABOUT, BOARDS, BOARD_RUNS, BOARD_CHOOSING]
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(files)
    runs, groups = (pq.read_table(tmp_path / name).to_pandas() for name in (RUNS, GROUPS))
    assert len(runs) == len(results.runs)
    assert len(groups) == 3 * 2 * 4  # thresholds, seeds, groups
    everything = runs.to_json() + groups.to_json() + (tmp_path / ABOUT).read_text()
    assert "artifact" not in everything
    assert str(tmp_path.parent) not in everything
    assert "fedbandit.machine" not in everything


def test_values_of_claims_can_be_written_into_the_text(results: Results):
    text = "[[ours: Simulation, uniform clients: Async-LinUCB: regret rises with the threshold]]"
    assert filled(f"It is {text}.", results) == "It is τ = 1 (no interval); from γ=1 to γ=∞ 900 (no interval)."
    assert "not checkable here" in filled("[[counts: count]]", results)
    with pytest.raises(ValueError, match="must name one claim of the table, got 0"):
        filled("[[ours: Mars: nothing]]", results)


ON_FIGURE_A = "section 4.1, figure a: the paper's preparation"
REGRET_RISES = f"{ON_FIGURE_A}: Async-LinUCB: regret rises *"


def test_a_verdict_in_the_text_is_that_of_all_its_claims(results: Results):
    text = f"It is [[is undecided: {REGRET_RISES}]]."  # two seeds decide nothing
    assert filled(text, results) == "It is undecided."
    labelled = "[[is undecided: appendix H, text and Table 2: our preparation: *]]"
    assert filled(labelled, results) == "undecided (reconstructed data)"
    with pytest.raises(ValueError, match="must be the verdict of all these claims, got undecided"):
        filled(text.replace("undecided", "reproduced"), results)
    with pytest.raises(ValueError, match="must be the verdict of all these claims, got not checkable here"):
        filled(f"[[is undecided: {ON_FIGURE_A}: *]]", results)
    with pytest.raises(ValueError, match="must name claims of the table, got none"):
        filled("[[is undecided: Mars: *: *]]", results)
    with pytest.raises(ValueError, match="must have one of the forms"):
        filled("[[is wonderful: Mars: *: *]]", results)


def test_a_typed_number_that_no_table_has_is_found():
    table = "<!-- renewed: fig_a -->\n| 12 | 0.61 [0.58; 0.64] |\n<!-- end -->\n"
    assert typed_numbers(f"{table}It needs 0.61 [0.58; 0.64] as much, at γ=3 with 95 % intervals; Table 2.") == []
    assert typed_numbers(f"{table}It needs 0.62 as much, 1,234 times.") == ["0.62", "1,234"]
    assert typed_numbers("Means with 95 % Student t intervals; its 90 % interval.") == []
    assert typed_numbers("It loses 95 % of its reward, 24.8 % more.") == ["95", "24.8"]


def test_a_typed_verdict_is_found():
    table = "<!-- renewed: claims -->\n| reproduced |\n<!-- end -->\n"
    assert typed_verdicts(f"{table}It is [[is reproduced: {REGRET_RISES}]], and they differ.") == []
    assert typed_verdicts("Reproduced on LastFM; on Delicious undecided.") == ["Reproduced", "undecided"]


def test_a_paragraph_on_what_holds_has_the_verdict_that_says_so():
    holds, fails = ("**What holds.** It is", "**What does not.** It is")
    reproduced, opposite = (f"[[is {verdict}: {REGRET_RISES}]]" for verdict in ("reproduced", "opposite"))
    assert wrong_paragraphs(f"{holds} {reproduced}.\n\n{fails} {opposite}.\n\nOther text.") == []
    for wrong in (f"{holds} so.", f"{fails} so.", f"{holds} {opposite}.", f"{fails} {reproduced}."):
        assert wrong_paragraphs(f"First.\n\n{wrong}") == [wrong]


def test_the_text_of_the_page_has_no_typed_number_and_no_typed_verdict():
    template = TEMPLATE.read_text()
    assert typed_numbers(template) == []
    assert typed_verdicts(template) == []
    assert wrong_paragraphs(template) == []
    assert template.count("**What holds.**") >= 8
    names = {block["name"] for block in BLOCK.finditer(template)}
    assert {"claims", "equal_regret", "study_lastfm", "user_groups_delicious-tagged"} <= names
    thresholds = {block["name"] for block in BLOCK.finditer((DOCS / "tables" / "thresholds.md").read_text())}
    assert thresholds == {"low_communication", *(f"fig_{letter}" for letter in "abcdef")}
    assert typed_numbers((DOCS / "results.md").read_text()) == []


@pytest.fixture(scope="module")
def committed() -> Results:
    """The results in the repository."""
    return read_committed()


def test_published_verdicts_and_numbers_are_those_of_the_records(committed: Results):
    assert FILE.read_text(encoding="utf-8") == published(committed)  # else: make docs


def test_the_text_of_the_page_says_what_its_records_say(committed: Results):
    results = committed
    page = (DOCS / "results.md").read_text()
    assert BLOCK.sub("", filled(TEMPLATE.read_text(), results)) == BLOCK.sub("", page)
    (table,) = [block.group() for block in BLOCK.finditer(page) if block["name"] == "claims"]
    assert renewed("<!-- renewed: claims -->\n<!-- end -->", results) == table


def test_the_map_from_the_paper_to_files_has_every_experiment_of_the_paper():
    page = (DOCS / "reports.md").read_text().partition("## From the paper to a file")[2].partition("\n## ")[0]
    rows = [line.strip("| ").split(" | ") for line in page.splitlines() if line.startswith("| ")][1:]
    names = {name for row in rows for text in re.findall(r"`([^`]+)`", row[1]) for name in text.split()}
    assert names == {*(f"fig_{letter}" for letter in "abcdef"), EXPERIMENT}
    results = read_committed()
    tables = [table.name for module in (settings, bounds, user_groups, claims) for table in module.tables(results)]
    for name in (name for row in rows for name in re.findall(r"`([^`]+)`", row[3])):
        assert any(fnmatch(table, name.replace("…", "*")) for table in tables), name


def test_the_page_on_data_shows_that_references_earn_more_than_any_bandit_on_lastfm():
    (block,) = BLOCK.finditer((DOCS / "data.md").read_text())
    assert block["name"] == "references"
    header, _, *rows = [line.strip("|").split("|") for line in block.group().splitlines() if "|" in line]
    column = [name.strip() for name in header].index("LastFM")
    rewards = {row[0].strip(): float(row[column].strip().strip("*").split("*")[0]) for row in rows}
    best = rewards.pop("**best of Async-LinUCB**")
    assert {rule for rule, reward in rewards.items() if reward > best} >= {
        "Most popular so far",
        "Most seen",
        "Never offered before, then most seen",
    }
