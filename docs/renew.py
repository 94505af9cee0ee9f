"""Renew the pictures and tables of the pages in `docs/` from the runs in MLflow: `make docs`.

Tables stand in docs/results.md between `<!-- renewed: NAME -->` and `<!-- end -->`; everything else there is written by
hand. Pictures go to docs/pictures: the figures of the report, and MLflow's pages in a Chromium without a window.
"""

import math
import re
import sys
from collections.abc import Callable
from pathlib import Path

import pandas as pd

from data_pipelines.safe_files import write_whole
from docs.screenshots import take_screenshots
from docs.small_pictures import small
from reports.build import OUT, build
from reports.context import Context, make_context
from reports.experiment_files import effects_of
from reports.labels import algorithm_label
from reports.results import Results, read_results
from reports.seeds import over_seeds
from reports.table import Table
from reports.tables import bounds, paper_against_ours, studies, user_groups

DOCS = Path(__file__).parent
PICTURES = DOCS / "pictures"
FIGURES = (
    *(f"fig_{letter}" for letter in "abcdef"),
    "low_communication",
    "user_groups_delicious",
    "users_delicious",
)
BLOCK = re.compile(r"(<!-- renewed: (?P<name>[\w-]+) -->\n).*?(<!-- end -->)", re.DOTALL)
GAMMAS = (1, 1.01, 1.1, 2, 3, 1 + 10**0.75, 11, 101, 1 + 10**2.5, 1 + 10**2.75, 1001, 6001, 9001, math.inf)
SHOWN = {
    "async-linucb": GAMMAS,
    "async-linucb-am": GAMMAS,
    "sync-linucb": (0.01, 0.1, 1, 10, 100, 1000),
}
"""Thresholds in the tables; the figures have all of them."""

LOW = tuple(10.0**power for power in range(4, 21, 2))


def main() -> int:
    """Renew everything; without a Chromium the pictures of MLflow's pages stay as they are."""
    results = read_results()
    context = make_context(results)
    build()
    PICTURES.mkdir(exist_ok=True)
    for name in FIGURES:
        write_whole(PICTURES / f"{name}.png", small(OUT / "figures" / f"{name}.png"))
    page = DOCS / "results.md"
    write_whole(page, renewed(page.read_text(), results, context).encode())
    take_screenshots(PICTURES)
    print(f"renewed: {page}, {len(list(PICTURES.glob('*.png')))} pictures in {PICTURES}")
    return 0


def renewed(text: str, results: Results, context: Context) -> str:
    """Return a page with its tables made anew."""
    return BLOCK.sub(lambda found: found[1] + block(found["name"], results, context) + found[3], text)


def block(name: str, results: Results, context: Context) -> str:
    """Return the table of that name, without the heading: the page has its own."""
    makers: dict[str, Callable[[], pd.DataFrame | Table]] = {
        "directions": lambda: against_paper(results, context, "direction"),
        "numbers": lambda: against_paper(results, context, "number"),
        "sizes": lambda: against_paper(results, context, "size"),
        "time": lambda: where_the_time_goes(results),
        "made": lambda: how_it_was_made(results),
    }
    if name in makers:
        return _bare(makers[name]())
    for start, module in (("study_", studies), ("user_groups_", user_groups), ("bounds", bounds)):
        if name.startswith(start):
            return _bare(next(table for table in module.tables(results, context) if table.name == name))
    return _bare(front(results, name))


def front(results: Results, experiment: str) -> pd.DataFrame:
    """Return reward, or regret, and C_T of some thresholds."""
    runs = results.runs[(results.runs["experiment"] == experiment) & (results.runs["variant"] == "")]
    metric = "regret" if (runs["source"] == "simulated").all() else "normalised_reward"
    rows = over_seeds(runs, [metric, "communication"])
    if rows["global_dim"].notna().all():
        first, rows = ["global_dim"], rows.sort_values("global_dim")
    else:
        first = ["algorithm", "threshold"]
        shown = {**SHOWN, "async-linucb": LOW} if experiment == "low_communication" else SHOWN
        wanted = [
            any(math.isclose(row["threshold"], each) for each in shown[name])
            for _, row in rows.iterrows()
            for name in [row["algorithm"]]
        ]
        rows = rows[wanted].sort_values(["algorithm", "threshold"])
    ends = [f"{each}{end}" for each in (metric, "communication") for end in ("", "_low", "_high")]
    frame = rows.assign(algorithm=[algorithm_label(name) for name in rows["algorithm"]])[[*first, "seeds", *ends]]
    return frame.rename(columns={name: name.replace("communication", "C_T") for name in frame})


def against_paper(results: Results, context: Context, kind: str) -> pd.DataFrame:
    """Return the directions, numbers or sizes of the paper beside ours; Table 2 has a table of its own."""
    (table,) = paper_against_ours.tables(results, context)
    frame = table.frame
    states = frame["what the paper states"]
    kinds = pd.Series("number", index=frame.index)
    kinds[frame["paper"].eq("stated")] = "direction"
    kinds[states.isin(["users", "items", "interactions"])] = "size"
    kinds[states.str.contains(r" of (?:group|all groups)")] = "table 2"
    empty = ["paper", "place"] if kind == "direction" else []
    return frame[kinds == kind].drop(columns=empty)


def where_the_time_goes(results: Results) -> pd.DataFrame:
    """Return the seconds that kernels took, by experiment and method, and their share."""
    runs = results.runs.assign(seconds=results.runs["microseconds_per_step"] * results.runs["steps"] / 1e6)
    runs = runs[[not effects_of(name) for name in runs["experiment"]]]  # the paper's experiments, not the studies
    runs = runs.sort_values("experiment").drop_duplicates("key")  # what two of them share was carried out once
    frame = runs.groupby(["experiment", "algorithm"], as_index=False).agg(
        runs=("seconds", "size"), kernel_seconds=("seconds", "sum"), step=("microseconds_per_step", "mean")
    )
    total = frame["kernel_seconds"].sum()
    last = {"experiment": "all", "algorithm": "", "runs": len(runs), "kernel_seconds": total, "step": float("nan")}
    frame = pd.concat([frame, pd.DataFrame([last])], ignore_index=True)
    frame["share"] = [f"{seconds / total:.1%}" for seconds in frame["kernel_seconds"]]
    frame["kernel_seconds"] = frame["kernel_seconds"].round(1)
    frame["algorithm"] = [algorithm_label(name) if name else "" for name in frame["algorithm"]]
    return frame.rename(columns={"step": "µs a step"})


def how_it_was_made(results: Results) -> pd.DataFrame:
    """Return versions, commit and machine of the runs."""
    rows = [
        {"what": what, "value": ", ".join(f"{value} ({count:,} runs)" for value, count in values.items())}
        for what, values in results.facts.items()
        if what != "machine"
    ]
    return pd.DataFrame(rows)


def _bare(made: pd.DataFrame | Table) -> str:
    """Return a table as Markdown, with its notes, but without title and caption."""
    table = made if isinstance(made, Table) else Table("", "", "", made)
    lines = table.markdown().splitlines()
    return "\n".join(lines[next(number for number, line in enumerate(lines) if line.startswith("|")) :]) + "\n"


if __name__ == "__main__":
    sys.exit(main())
