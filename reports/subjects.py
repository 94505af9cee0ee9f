"""Subjects of the page: the maker of a table or figure states which of its sections it belongs to."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Subject:
    """The title and the introduction of a section of figures and tables."""

    title: str
    introduction: str = ""


FRONTS = Subject(
    "Reward against communication",
    "Each mark is a setting of a method: further right it communicates more. The stairs are the front; small numbers "
    "next to marks are the threshold; hollow diamonds are the paper's own numbers; dashed lines are references. The "
    "strip at 0 is no communication. Move the slider to see the best setting within a budget.",
)
BOARD = Subject(
    "Board",
    "Which method earns most within a budget? Every method is tuned alike, on seeds that are not reported. Scores are "
    "normalised reward, in simulations 1 − regret / regret of random choice; bands are simultaneous over all pairs and "
    "budgets. The rules are in docs/protocol.md.",
)
PAPER = Subject(
    "Comparison with the paper",
    "The paper's claims, our results, and a verdict on each. A difference is a finding, not necessarily an error.",
)
FIGURES = Subject("Further figures", "Other data, and the effect of the number of global features or of the threshold.")
OVER_TIME = Subject(
    "Over time",
    "How reward and communication grow during a run, for the smallest (dashed), largest (dotted) and best (solid) "
    "threshold of each method. The bands are intervals.",
)
USERS = Subject(
    "Users by activity", "Appendix H: which users gain or lose as they share more, and how similar users are."
)
STUDIES = Subject(
    "Studies",
    "The effect of individual settings that the paper does not specify, or that its published script handles "
    "differently.",
)
BOUNDS = Subject("Bounds", "Appendix Table 1: the theoretical bounds next to our measurements.")
SETTINGS = Subject(
    "Settings",
    "All settings of each experiment, your own algorithms included: means over seeds with intervals. The best one "
    "would be chosen on these seeds.",
)
FURTHER = Subject("Further tables")
MISSING = Subject("Missing runs and data")

UNFOLDED = (FRONTS, BOARD, PAPER)
"""Shown at once; all others are folded."""

IN_ORDER = (*UNFOLDED, FIGURES, OVER_TIME, USERS, STUDIES, BOUNDS, SETTINGS, FURTHER)
"""The order on the page; subjects that are not listed here follow."""
