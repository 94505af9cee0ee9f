"""Subjects of the page: the maker of a table or figure states which of its sections it belongs to."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Subject:
    """The title and the introduction of a section of figures and tables."""

    title: str
    introduction: str = ""


PAPER = Subject(
    "Comparison with the paper",
    "The paper's claims, our results, and a verdict on each. A difference is a finding, not necessarily an error.",
)
FIGURES = Subject(
    "Figures",
    "Reward or regret against communication. Hover over a mark or tap it for algorithm, threshold, seeds and values.",
)
OVER_TIME = Subject("Over time", "How reward and communication grow during a run.")
USERS = Subject(
    "Users by activity", "Appendix H: which users gain or lose as they share more, and how similar users are."
)
STUDIES = Subject(
    "Studies",
    "The effect of individual settings that the paper does not specify, or that its published script handles "
    "differently.",
)
BOUNDS = Subject("Bounds", "Appendix Table 1: the theoretical bounds next to our measurements.")
BOARD = Subject(
    "Board",
    "Which method earns most within a communication budget? Every method is tuned alike, on seeds that are not "
    "reported. Budgets are in full transfers per client. The rules are in docs/protocol.md.",
)
SETTINGS = Subject("Settings", "All settings of each experiment, your own algorithms included.")
FURTHER = Subject("Further tables")
MISSING = Subject("Missing runs and data")

IN_ORDER = (BOARD, PAPER, FIGURES, OVER_TIME, USERS, STUDIES, BOUNDS, SETTINGS, FURTHER)
"""The order on the page; subjects that are not listed here follow. MISSING is first or last, see `page.sections`."""
