"""Update the pictures and tables in `docs/` and the README: `make docs`.

They are made from the records in docs/records, which `make records` writes. Tables are between
`<!-- renewed: NAME -->` and `<!-- end -->`; everything else is written by hand. Long tables are pages of their own in
docs/tables. Pictures are in docs/pictures: the figures of the report, those of docs/methods.md, and screenshots of the
MLflow UI in a headless Chromium.

Examples:
  python -m tests.tools.renew          update everything
  python -m tests.tools.renew --board  update the page, tables and figures of the board alone, in less than a minute
"""

import argparse
import math
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import pandas as pd

from benchmark.results.frames import over_seeds
from benchmark.statistics.intervals import kendall_tau, mean_interval
from benchmark.statistics.verdicts import ClaimVerdict, count_verdicts
from data_pipelines.support.files import write_whole
from reports.analysis.claims import COUNT, DIRECTION, KINDS, NUMBER, TUNED, judged_cells, judged_claims
from reports.build import OUT
from reports.figures import by_parameter, fronts, users
from reports.figures import claims as claims_figure
from reports.page.glossary import MEANINGS
from reports.paper import variant_labels
from reports.read.results import Results, datasets_of, effects_of
from reports.tables import bounds, claims, settings, studies, user_groups
from reports.write.figure import Figure
from reports.write.table import Table, interval_text, make_table
from tests.tools.board_page import TABLES, board_page, short_section, shown_boards, table_pages
from tests.tools.board_page import figures as board_figures
from tests.tools.committed import read_committed
from tests.tools.first_table import first_table
from tests.tools.methods_page import methods_sections
from tests.tools.methods_pictures import write_pictures
from tests.tools.prose import BLOCK, bare, filled
from tests.tools.published import write_published
from tests.tools.reference_pages import TABLES as REFERENCE
from tests.tools.screenshots import take_screenshots
from tests.tools.small_pictures import small
from tests.tools.transcripts import renew_transcripts

DOCS = Path(__file__).parents[2] / "docs"
PICTURES = DOCS / "pictures"
PAGES = ("results.md", "tables/thresholds.md", "data.md", "methods.md", "../README.md")
PAGES += tuple(f"reference/{name}.md" for name in REFERENCE)
FIGURES = (
    *(f"fig_{letter}" for letter in "abcdef"),
    "low_communication",
    "claims",
    "user_groups_delicious-tagged",
    "users_delicious-tagged",
)
TEMPLATE = Path(__file__).with_name("results_page.md")
"""The text of docs/results.md, without a number of a result: `make docs` adds tables and values."""

GAMMAS = (1, 1.01, 1.1, 2, 3, 1 + 10**0.75, 11, 101, 1 + 10**2.5, 1 + 10**2.75, 1001, 6001, 9001, math.inf)
SHOWN = {"gamma": GAMMAS, "threshold": (0.01, 0.1, 1, 10, 100, 1000)}
"""Thresholds in the tables, by parameter; the figures show all of them."""

LOW = tuple(10.0**power for power in range(4, 21, 2))


def main(argv: Sequence[str] | None = None) -> int:
    """Update everything; without Chromium or the runs in MLflow, the screenshots of the MLflow UI are not changed."""
    parser = argparse.ArgumentParser(
        "tests.tools.renew", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--board", action="store_true", help="only what is about the board")
    arguments = parser.parse_args(argv)
    results = read_committed()
    PICTURES.mkdir(exist_ok=True)
    write_published(results)
    pages, pictures = write_board(results, DOCS), [*_saved(board_figures(results))]
    names = ("../README.md",) if arguments.board else PAGES
    for name in names:
        template = TEMPLATE if name == "results.md" else DOCS / name
        write_whole(DOCS / name, filled(renewed(template.read_text(), results), results).encode())
    if not arguments.board:
        pictures += [*_saved(_figures(results)), *write_pictures(PICTURES)]
        renew_transcripts(DOCS / "answers.md")
        take_screenshots(PICTURES)
    print(f"updated: {', '.join((*pages, *names))} and {len(pictures)} figures in {DOCS}")
    return 0


def write_board(results: Results, docs: Path) -> list[str]:
    """Write the page of the board and those with its tables, remove those of other tasks, and return their paths."""
    pages = {"board.md": board_page(results), **table_pages(results)}
    for page in docs.glob(TABLES.format("*")):
        if str(page.relative_to(docs)) not in pages:
            page.unlink()
    for name, text in pages.items():
        (docs / name).parent.mkdir(exist_ok=True)
        write_whole(docs / name, text.encode())
    return list(pages)


def _figures(results: Results) -> Iterator[Figure]:
    """Return the figures of the pages on the paper; those that need data which are not here stay as they are."""
    for maker in (claims_figure, fronts, by_parameter, users):
        yield from (figure for figure in maker.figures(results) if figure.name in FIGURES)


def _saved(figures: Iterable[Figure]) -> Iterator[str]:
    """Write small pictures of figures, and return their names."""
    for figure in figures:
        figure.save(OUT / "figures")
        write_whole(PICTURES / f"{figure.name}.png", small(OUT / "figures" / f"{figure.name}.png"))
        yield figure.name


def renewed(text: str, results: Results) -> str:
    """Return a page with updated tables."""
    return BLOCK.sub(lambda match: match[1] + block(match["name"], results) + match[3], text)


def block(name: str, results: Results) -> str:
    """Return the table of this name without its heading, as the page has its own."""
    makers: dict[str, Callable[[], pd.DataFrame | Table]] = {
        "claims": lambda: claims.matrix_tables(results)[0],
        "verdict_counts": lambda: verdict_counts(results),
        "equal_regret": lambda: by_level(claims.equal_regret_tables(results)[0].frame),
        "fig_c_differences": lambda: differences_by_global_dim(results),
        "study_lastfm": lambda: studies.ablation_tables(results)[0],
        "directions": lambda: against_paper(results, DIRECTION),
        "directions_tuned": lambda: against_paper(results, TUNED),
        "tuned": lambda: claims.tuned_tables(results)[0],
        "numbers": lambda: against_paper(results, NUMBER),
        "sizes": lambda: against_paper(results, COUNT),
        "time": lambda: where_the_time_goes(results),
        "made": lambda: how_it_was_made(results),
        "rules": rules,
        "references": lambda: references_by_stream(results),
    }
    if name == "board_short":
        return short_section(shown_boards(results))
    if name == "first_table":
        return first_table(results)
    if name == "methods":
        return methods_sections()
    if name in REFERENCE:
        return REFERENCE[name]()
    if name in makers:
        return bare(makers[name]())
    for start, module in (("study_", studies), ("user_groups_", user_groups), ("bounds", bounds)):
        if name.startswith(start):
            return bare(next(table for table in module.tables(results) if table.name == name))
    return bare(front(results, name))


def front(results: Results, experiment: str) -> Table:
    """Return reward or regret, and C_T, for some thresholds."""
    runs = results.runs[results.runs["experiment"] == experiment]
    runs = runs[[results.methods.info(name).role == "contender" for name in runs["algorithm"]]]
    if runs["global_dim"].isna().any():  # the figure itself, or its fallback; variants are in the table of directions
        runs = runs[runs["variant"] == ""]
        played = [*runs["stream"].unique()]
        runs = runs[runs["stream"] == next((name for name in datasets_of(experiment) if name in played), played[0])]
    metric = "regret" if (runs["source"] == "simulated").all() else "normalised_reward"
    rows = over_seeds(runs, [metric, "communication"])
    if rows["global_dim"].notna().all():
        first = ["algorithm", "variant", "global_dim"]
        rows = rows.sort_values(first)
    else:
        first = ["algorithm", "threshold"]
        thresholds = {**SHOWN, "gamma": LOW} if experiment == "low_communication" else SHOWN
        is_selected = [
            any(
                math.isclose(row["threshold"], threshold)
                for threshold in thresholds[results.methods.info(row["algorithm"]).parameter]
            )
            for _, row in rows.iterrows()
        ]
        rows = rows[is_selected].sort_values(["algorithm", "threshold"])
    ends = [f"{column}{end}" for column in (metric, "communication") for end in ("", "_low", "_high")]
    frame = rows.assign(algorithm=rows["algorithm"].map(results.methods.label))[[*first, "seeds", *ends]]
    frame = frame.rename(columns={name: name.replace("communication", "C_T") for name in frame})
    return make_table("", "", "", frame, counts=["C_T"])


def differences_by_global_dim(results: Results, experiment: str = "fig_c", one_model: str = "async-linucb") -> Table:
    """Return regret minus that of one model for all, by seed, for each variant and d_g; and both trends along d_g."""
    runs = results.runs[results.runs["experiment"] == experiment]
    regrets = runs.pivot_table(index="seed", columns=["algorithm", "variant", "global_dim"], values="regret")
    rows = []
    for (algorithm, variant), part in runs[runs["threshold"].notna()].groupby(["algorithm", "variant"]):
        if algorithm == one_model:
            continue
        row = {"method": results.methods.label(str(algorithm)), "variant": variant}
        for dim in sorted(part["global_dim"].unique()):
            differences = regrets[algorithm, variant, dim] - regrets[one_model, "", dim]
            row[f"d_g = {dim:g}"] = interval_text(*mean_interval(differences))
        for metric, symbol in (("regret", "regret"), ("communication", "C_T")):
            trends = [kendall_tau(seed["global_dim"], seed[metric]) for _, seed in part.groupby("seed")]
            row[f"τ of {symbol} with d_g"] = interval_text(*mean_interval(trends))
        rows.append(row)
    return Table("", "", "", pd.DataFrame(rows))


def verdict_counts(results: Results) -> pd.DataFrame:
    """Return the number of claims with each verdict, by kind of claim and variant of the data."""
    judged = [*judged_claims(results), *judged_cells(results)]
    rows = []
    for kind in KINDS:
        for variant, label in variant_labels().items():
            if members := [claim for claim in judged if (claim.kind, claim.variant) == (kind, variant)]:
                counts = count_verdicts(claim.verdict for claim in members)
                rows.append({"claims": claims.PLURALS[kind], "data": label, "number": len(members), **counts})
    return pd.DataFrame(rows).rename(columns=str)


def rules() -> Table:
    """Return the meaning of each verdict on a claim, and how claims are judged."""
    frame = pd.DataFrame([{"verdict": str(verdict), "meaning": MEANINGS[verdict]} for verdict in ClaimVerdict])
    return Table("", "", "", frame, (claims.RULES,))


def by_level(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the communication at equal regret with a column for each level."""
    ratios = zip(frame["ratio"], frame["ratio_low"], frame["ratio_high"], strict=True)
    texts = frame.assign(text=[interval_text(*ratio) for ratio in ratios])
    wide = texts.pivot(index=["clients", "charge"], columns="above the least", values="text")
    order = texts[["clients", "charge"]].drop_duplicates()
    return wide.loc[pd.MultiIndex.from_frame(order), list(dict.fromkeys(frame["above the least"]))].reset_index()


def references_by_stream(results: Results) -> Table:
    """Return the mean normalised reward of each reference on each stream, and of the best method there."""
    (table,) = settings.reference_tables(results)
    frame = table.frame[table.frame["data"].isin(["LastFM", "Delicious", "MovieLens 1M", "Online Retail"])]
    streams = frame["data"] + frame["stream"].map(lambda text: "" if text == "default" else f", {text}")
    is_best = frame["kind"] == "best method"
    methods = sorted(frame.loc[is_best, "rule"].str.split().str[0].unique())
    texts = [
        f"**{value:.2f}** ({rule.split()[-1]})" if best else f"{value:.2f}"
        for value, rule, best in zip(frame["normalised reward"], frame["rule"], is_best, strict=True)
    ]
    rules = frame["rule"].mask(is_best, f"**best of {', '.join(methods)}**")
    cells = pd.DataFrame({"rule": rules, "stream": streams, "text": texts, "value": frame["normalised reward"]})
    order = cells.groupby("rule")["value"].max().sort_values(ascending=False).index
    wide = cells.pivot(index="rule", columns="stream", values="text").loc[order].reset_index()
    numbers = sorted({*frame["seeds"]})
    seeds = f"Means over {' or '.join(map(str, numbers))} seed{'s' if numbers != [1] else ''}."
    return Table("references", "", "", wide, (seeds, *table.notes))


def against_paper(results: Results, kind: str) -> pd.DataFrame:
    """Return the directions, numbers or sizes of the paper next to ours; Table 2 has a separate table."""
    (table,) = claims.list_tables(results)
    unused = ["kind", "paper", "place"] if kind in (DIRECTION, TUNED) else ["kind"]
    return table.frame[table.frame["kind"] == kind].drop(columns=unused)


def where_the_time_goes(results: Results) -> pd.DataFrame:
    """Return the time of the kernels by experiment and method, and their share."""
    runs = results.runs.assign(seconds=results.runs["microseconds_per_step"] * results.runs["steps"] / 1e6)
    runs = runs[[not effects_of(name) for name in runs["experiment"]]]  # the paper's experiments, not the studies
    runs = runs.sort_values("experiment").drop_duplicates("key")  # shared runs were executed once
    frame = runs.groupby(["experiment", "algorithm"], as_index=False).agg(
        runs=("seconds", "size"), kernel_seconds=("seconds", "sum"), step=("microseconds_per_step", "mean")
    )
    total = frame["kernel_seconds"].sum()
    last = {"experiment": "all", "algorithm": "", "runs": len(runs), "kernel_seconds": total, "step": float("nan")}
    frame = pd.concat([frame, pd.DataFrame([last])], ignore_index=True)
    frame["share"] = [f"{seconds / total:.1%}" for seconds in frame["kernel_seconds"]]
    frame["kernel_seconds"] = frame["kernel_seconds"].round(1)
    frame["algorithm"] = [results.methods.label(name) if name else "" for name in frame["algorithm"]]
    return frame.rename(columns={"step": "µs per step"})


def how_it_was_made(results: Results) -> pd.DataFrame:
    """Return the versions and the commit of the runs."""
    rows = [
        {"what": what, "value": ", ".join(f"{value} ({count:,} runs)" for value, count in values.items())}
        for what, values in results.versions.items()
        if what != "machine"
    ]
    return pd.DataFrame(rows)


if __name__ == "__main__":
    sys.exit(main())
