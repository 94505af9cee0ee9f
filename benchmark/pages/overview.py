"""The experiment `overview`: one run per experiment, with its headline numbers and a link to its chart."""

import hashlib
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass

from benchmark.pages.settings import PER_CLIENT, SEEDS, Setting, metric_name
from benchmark.plan.experiment import Experiment

OVERVIEW = "overview"
TITLE = "All experiments, one line each"
DESCRIPTION = (
    "Open a line to read what the experiment is, and to follow the link to its chart. The numbers are means over seeds."
)
RUNS, SETTINGS = "finished runs", "settings"


def overview_experiment() -> Experiment:
    """Return the experiment whose runs are the lines; it has no streams and methods of its own."""
    return Experiment.model_construct(name=OVERVIEW, title=TITLE, description=DESCRIPTION)


@dataclass(frozen=True)
class Line:
    """The line of an experiment.

    Args:
        experiment: its name.
        about: its title and description, in plain text.
        settings: its reported settings.
        runs: the number of its finished runs.
        link: where its chart is.
        left_out: sentences on finished runs that no setting includes.
    """

    experiment: str
    about: str
    settings: Sequence[Setting]
    runs: int
    link: str
    left_out: Sequence[str] = ()

    @property
    def name(self) -> str:
        """The title and the name of the experiment."""
        title = self.about.partition(". ")[0].rstrip(".")
        return f"{title} ({self.experiment})" if title else self.experiment

    @property
    def best(self) -> Setting | None:
        """The best setting of a contender, or of any method if there is none; None without a value."""
        rated = [setting for setting in self.settings if math.isfinite(setting.mean(setting.objective.name)[0])]
        contenders = [setting for setting in rated if setting.first.method.card.role == "contender"] or rated
        names = {setting.objective.name for setting in contenders}
        if len(names) != 1:  # simulated and real streams are not compared
            return None
        return max(contenders, key=lambda setting: setting.objective.sign * setting.mean(setting.objective.name)[0])

    def values(self) -> dict[str, float]:
        """Return the headline numbers."""
        values = {RUNS: float(self.runs), SETTINGS: float(len(self.settings))}
        if self.settings:
            values[SEEDS] = float(max(len(setting.runs) for setting in self.settings))
        if (best := self.best) is not None:
            means = best.values()
            values[f"best {metric_name(best.objective)}"] = means[metric_name(best.objective)]
            if PER_CLIENT in means:
                values[f"{PER_CLIENT} of the best"] = means[PER_CLIENT]
        return values

    def tags(self) -> dict[str, str]:
        """Return the tags to show first."""
        best = self.best
        return {
            "Experiment": self.experiment,
            "Data": "; ".join(dict.fromkeys(setting.data for setting in self.settings)),
            "Methods": ", ".join(dict.fromkeys(setting.method for setting in self.settings)),
            "Best": f"{best.method} {best.text}".strip() if best else "–",
        }

    def description(self) -> str:
        """Describe the experiment; a link leads to its chart."""
        best = self.best
        sentence = f"\n\nBest setting: {best.description()}" if best else ""
        labels = dict.fromkeys(each.label for each in self.settings)
        warnings = "".join(f"\n\n{text}" for text in (*labels, *self.left_out) if text)
        return f"{self.about}\n\n[Open the chart of {self.experiment}]({self.link}){sentence}{warnings}"

    def digest(self, version: int) -> str:
        """Hash its content."""
        content = [version, self.name, self.values(), self.tags(), self.description()]
        return hashlib.sha256(json.dumps(content).encode()).hexdigest()[:32]
