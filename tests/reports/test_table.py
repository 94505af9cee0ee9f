"""Tables: the same numbers in all four formats, with title, caption and notes; LaTeX that compiles."""

import io
import math
import shutil
import subprocess
from pathlib import Path

import pandas as pd
import pytest

from algorithms.registry import built_in_methods
from benchmark.plan.runs import threshold_text
from data_pipelines.data_label import STAND_IN
from reports.labels import seeds_text
from reports.write.table import CUT, Table, cell_text, csv_text, escaped, interval_text, make_table, paper_table

FRAME = pd.DataFrame(
    {
        "algorithm": ["Async-LinUCB", "my|own & <b>"],
        "threshold": [math.inf, 6001.0],
        "regret": [1234.5678, 2.0],
        "regret_low": [1200.0, math.nan],
        "regret_high": [1300.0, math.nan],
        "C_T": [0, 12_901_135],
    }
)
TABLE = Table("a_table", "A title", "A caption with γ, 5 % and C_T.", FRAME, (STAND_IN, "a second note"))
DOCUMENT = r"""\documentclass{article}
\usepackage[utf8]{inputenc}
\usepackage{booktabs,graphicx,longtable}
\begin{document}
\input{table.tex}
\end{document}
"""


def test_every_readable_format_has_title_caption_and_notes():
    for text in (TABLE.markdown(), TABLE.latex(), TABLE.html()):
        for part in ("A title", "A caption with", STAND_IN, "a second note"):
            assert part in text


def test_markdown_shows_intervals_next_to_means():
    lines = TABLE.markdown().splitlines()
    assert lines[4] == "| algorithm | threshold | regret | C_T |"
    assert lines[5] == "|---|---:|---:|---:|"
    assert lines[6] == "| Async-LinUCB | ∞ | 1,235 [1,200; 1,300] | 0 |"
    assert lines[7] == r"| my\|own & <b> | 6,001 | 2 (no interval) | 12,901,135 |"


def test_html_escapes_the_names_that_a_user_chose():
    assert ">my|own &amp; &lt;b&gt;</td>" in TABLE.html()
    assert ">1,235 <span>[1,200; 1,300]</span></td>" in TABLE.html()


def test_csv_keeps_every_digit_and_has_the_labels_of_its_data_as_a_column_but_no_other_notes():
    read = pd.read_csv(io.StringIO(TABLE.csv()))
    pd.testing.assert_frame_equal(read.drop(columns="data_label"), FRAME, check_dtype=False)
    assert read["data_label"].tolist() == [STAND_IN, STAND_IN]
    assert "a second note" not in TABLE.csv()
    assert csv_text(pd.DataFrame({"seed_list": [(0, 1, 2), (5,)]})) == "seed_list\n0 1 2\n5\n"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1.8322, "1.8322"),
        (0.123456, "0.1235"),
        (-12.3456, "−12.35"),
        (1e20, "1.000e20"),
        (float("nan"), "–"),
        (None, "–"),
        (True, "yes"),
        (1234567, "1,234,567"),
        (3.2e-7, "3.200e−07"),
    ],
)
def test_cells_are_readable_texts(value: object, text: str):
    assert cell_text(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1.0, "1"),
        (1.01, "1.01"),
        (1.0177827941, "1.018"),
        (6001, "6,001"),
        (1e20, "1e20"),
        (math.inf, "∞"),
        (math.nan, ""),
    ],
)
def test_thresholds_are_readable_texts(value: float, text: str):
    assert threshold_text(value) == text


def test_latex_escapes_special_characters():
    assert escaped("run `fedbandit run a_b --x` now") == r"run \texttt{fedbandit run a\_b --x} now"
    assert escaped("5 % of C_T & N^(3/2) √T γ_U {x} ∞ 中") == (
        r"5 \% of $C_{T}$ \& $N^{3/2}$ $\sqrt{T}$ $\gamma$\_U \{x\} $\infty$ ?"
    )


@pytest.mark.parametrize("rows", [2, 60])
def test_latex_is_well_formed_and_compiles(tmp_path: Path, rows: int):
    frame = pd.concat([FRAME] * (rows // 2), ignore_index=True)
    text = Table("t", "Title_1", "100 % & more #1", frame, (STAND_IN, "µ ± × → τ")).latex()
    kind = "longtable" if rows > 40 else "tabular"
    assert text.count(r"Title\_1. 100 \% \& more \#1") == 1
    assert text.count(rf"\begin{{{kind}}}") == text.count(rf"\end{{{kind}}}") == 1
    for rule in ("toprule", "midrule", "bottomrule"):
        assert rf"\{rule}" in text
    body = [line for line in text.splitlines() if line.endswith(r"\\") and "&" in line.replace(r"\&", "")]
    assert all(line.replace(r"\&", "").count("&") == 3 for line in body)
    compiled(text, tmp_path)


def compiled(text: str, folder: Path) -> str:
    """Compile a table in a document of LaTeX's class `article` at 10pt, and return what pdflatex prints."""
    if shutil.which("pdflatex") is None:
        pytest.skip("NOT RUN: pdflatex is not installed, so only the structure of the LaTeX table was checked")
    (folder / "table.tex").write_text(text, encoding="utf-8")
    (folder / "document.tex").write_text(DOCUMENT, encoding="utf-8")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "document.tex"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout[-2000:]
    return done.stdout


def test_a_table_for_a_paper_with_every_method_and_variant_is_within_the_text(tmp_path: Path):
    methods = [info for info in built_in_methods().values() if info.role == "contender"]
    labels = [label for info in methods for label in (info.label, *map(info.variant_label, info.variants))]
    assert [label for label in labels if "?" in escaped(label)] == []
    numbers = ["12.345\n±0.678", "0.912\n±0.003", "0.999!\n±0.123", "none:\nalone", "−0.012\n±0.003", "failed", "0.5"]
    heads = ["method", "0", "0.03", "0.1", "0.3", "1", "unlimited", "mean"]
    cells = pd.DataFrame([[label, *numbers] for label in labels], columns=heads)
    best = pd.DataFrame([[False, True, *[False] * 6]] * len(labels), columns=heads)
    text = paper_table("board_t", "Score within 5 % of γ_U", cells, best, "Mean ± half-width. " * 20)
    assert text.startswith("% Needs the package booktabs.\n")
    assert "resizebox" not in text
    assert r"\caption{Score within 5 \% of" in text
    assert r"\label{tab:board-t}" in text
    rows = [line for line in text.splitlines() if line.endswith(r"\\")]
    first = next(number for number, line in enumerate(rows) if labels[0] in line)
    assert rf"{labels[0]} & \textbf{{12.345}} & 0.912 & 0.999! & none: & $-$0.012 & failed & 0.5 \\" in rows[first]
    small = r"\scriptsize $\pm$0."
    assert rows[first + 1] == (rf" & {small}678 & {small}003 & {small}123 & \scriptsize alone & {small}003 &  &  \\")
    assert {line.count("&") for line in rows} == {7}
    printed = compiled(text, tmp_path)
    assert "Overfull" not in printed
    assert "too large" not in printed


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ((1.20712, 1.19, 1.22424), "1.207 [1.190; 1.224]"),
        ((-0.0000963, -0.003793, 0.0036), "−0.0001 [−0.0038; 0.0036]"),
        ((14_581_560.2, 14_481_054.1, 14_682_066.3), "14,581,560 [14,481,054; 14,682,066]"),
        ((0.0, 0.0, 0.0), "0 [0; 0]"),
    ],
)
def test_an_interval_has_two_significant_digits(values: tuple[float, float, float], text: str):
    assert interval_text(*values) == text


@pytest.mark.parametrize(
    ("seeds", "text"), [([4], "4"), ([1, 0], "0, 1"), (range(10), "0–9"), ([0, 1, 2, 3, 7, 9, 10], "0–3, 7, 9, 10")]
)
def test_three_or_more_seeds_in_a_row_are_a_range(seeds: list[int], text: str):
    assert seeds_text(seeds) == text


def test_intervals_of_counts_are_cut_at_zero_and_the_table_says_so():
    frame = pd.DataFrame({"uploads": [2.0, 9.0], "uploads_low": [-1.0, 8.0], "uploads_high": [5.0, 10.0]})
    frame = frame.assign(difference=[0.0, 0.0], difference_low=[-1.0, -2.0], difference_high=[1.0, 2.0])
    table = make_table("t", "t", "", frame, ["a note"], counts=["uploads"])
    assert table.readable["uploads"].tolist() == ["2.0 [0.0; 5.0]", "9.0 [8.0; 10.0]"]
    assert table.readable["difference"].tolist() == ["0.0 [−1.0; 1.0]", "0.0 [−2.0; 2.0]"]
    assert table.notes == ("a note", CUT)
    assert CUT in table.markdown()
    assert CUT in table.html(is_short=True)
    assert "-1.0,5.0" not in table.csv()
    assert frame["uploads_low"].tolist() == [-1.0, 8.0]
    assert make_table("t", "t", "", frame[1:], ["a note"], counts=["uploads"]).notes == ("a note",)
