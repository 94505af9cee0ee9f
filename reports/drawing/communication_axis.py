"""The axis of communication: logarithmic, with a strip at the left for runs without any communication.

A logarithmic axis has no zero, but γ=∞ transfers nothing. Its mark is in a shaded strip with the tick 0, in static
pictures and in interactive plots.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.ticker import FixedFormatter, FixedLocator, NullFormatter, NullLocator
from numpy.typing import ArrayLike, NDArray

from benchmark.metrics import metric

COMMUNICATION = metric("communication")
STRIP = "#f1f3f5"
PER_CLIENT = "transfers per client"


@dataclass(frozen=True)
class CommunicationAxis:
    """An axis from `left` to `right`; zero is drawn at `zero`, and the strip of zero is left of `border`."""

    left: float
    right: float
    zero: float | None
    border: float

    @classmethod
    def around(cls, values: ArrayLike) -> "CommunicationAxis":
        """Return the axis that shows all these values."""
        numbers = np.asarray(values, dtype=float)
        positive = numbers[numbers > 0]
        low, high = (math.log10(positive.min()), math.log10(positive.max())) if len(positive) else (0.0, 1.0)
        if high - low < 0.2:
            low, high = low - 0.1, high + 0.1
        span = high - low
        border = low - 0.05 * span
        has_zero = bool((numbers == 0).any())
        left = border - 0.12 * span if has_zero else border
        zero = 10 ** (border - 0.06 * span) if has_zero else None
        return cls(10**left, 10 ** (high + 0.06 * span), zero, 10**border)

    def position(self, values: ArrayLike) -> NDArray[np.float64]:
        """Return the positions of values on the axis: zero is in its strip, all others stay as they are."""
        numbers = np.asarray(values, dtype=float)
        return np.where(numbers > 0, numbers, np.nan if self.zero is None else self.zero)

    def share(self, values: ArrayLike) -> NDArray[np.float64]:
        """Return the positions of values as shares of the axis, 0 at the left and 1 at the right."""
        low, high = math.log10(self.left), math.log10(self.right)
        return np.asarray((np.log10(self.position(values)) - low) / (high - low))

    def ticks(self) -> list[tuple[float, str, str]]:
        """Return the ticks: value, text for matplotlib, text for Plotly."""
        first, last = math.ceil(math.log10(self.border) - 1e-9), math.floor(math.log10(self.right) + 1e-9)
        decades = [10.0**power for power in range(first, last + 1)]
        ticks = [(value, _mathtext(value), _html(value)) for value in decades]
        if len(decades) < 3:
            factors = (1, 2, 5) if self.right > 10 * self.border else range(1, 10)
            steps = (factor * 10.0**power for power in range(first - 1, last + 1) for factor in factors)
            ticks = [
                (value, text, text) for value in steps if self.border < value < self.right for text in [_plain(value)]
            ]
        zero = [] if self.zero is None else [(self.zero, "0", "0")]
        return zero + sorted(ticks)

    def apply(self, axes: Any) -> None:
        """Set up matplotlib's horizontal axis."""
        axes.set_xscale("log")
        axes.set_xlim(self.left, self.right)
        ticks = self.ticks()
        axes.xaxis.set_major_locator(FixedLocator([value for value, _, _ in ticks]))
        axes.xaxis.set_major_formatter(FixedFormatter([text for _, text, _ in ticks]))
        axes.xaxis.set_minor_locator(FixedLocator(list(self._between())))
        axes.xaxis.set_minor_formatter(NullFormatter())
        axes.set_xlabel(COMMUNICATION.axis_label(is_log=True) + (", zero shown separately" if self.zero else ""))
        if self.zero is not None:
            axes.axvspan(self.left, self.border, color=STRIP, zorder=0, linewidth=0)
            axes.axvline(self.border, color="#9ca3af", linewidth=0.8, linestyle=(0, (2, 2)), zorder=1)

    def ticks_per_client(self, clients: float) -> list[tuple[float, str, str]]:
        """Return the ticks of the second axis, at round numbers of transfers per client: value, two texts."""
        low, high = self.border / clients, self.right / clients
        powers = range(math.ceil(math.log10(low)), math.floor(math.log10(high)) + 1)
        values = [10.0**power for power in powers]
        if len(values) < 3:
            values = [factor * 10.0**power for power in range(powers.start - 1, powers.stop) for factor in (1, 2, 5)]
        texts = [(value, f"{value:,g}") for value in values if low < value < high]
        zero = [] if self.zero is None else [(self.zero, "0", "0")]
        return zero + [(value * clients, text, text) for value, text in texts]

    def apply_per_client(self, axes: Any, clients: float) -> None:
        """Add matplotlib's second axis, above the plot: transfers per client."""
        second = axes.secondary_xaxis("top")
        ticks = self.ticks_per_client(clients)
        second.xaxis.set_major_locator(FixedLocator([value for value, _, _ in ticks]))
        second.xaxis.set_major_formatter(FixedFormatter([text for _, text, _ in ticks]))
        second.xaxis.set_minor_locator(NullLocator())
        second.tick_params(labelsize=7.5, length=2.5, pad=1.5)
        second.set_xlabel(PER_CLIENT, fontsize=7.5, loc="left", labelpad=1.5)

    def plotly_per_client(self, clients: float) -> dict[str, Any]:
        """Return Plotly's second horizontal axis, above the plot: it has the same range, and ticks per client."""
        ticks = self.ticks_per_client(clients)
        return {
            "type": "log",
            "overlaying": "x",
            "matches": "x",
            "side": "top",
            "showgrid": False,
            "tickvals": [value for value, _, _ in ticks],
            "ticktext": [text for _, _, text in ticks],
            "title": {"text": PER_CLIENT, "standoff": 4},
        }

    def plotly(self) -> dict[str, Any]:
        """Return Plotly's horizontal axis."""
        ticks = self.ticks()
        return {
            "type": "log",
            "range": [math.log10(self.left), math.log10(self.right)],
            "tickvals": [value for value, _, _ in ticks],
            "ticktext": [text for _, _, text in ticks],
            "title": {"text": COMMUNICATION.plain_axis_label()},
        }

    def plotly_shapes(self) -> list[dict[str, Any]]:
        """Return the strip of zero for Plotly."""
        if self.zero is None:
            return []
        strip = {"type": "rect", "xref": "x", "yref": "paper", "x0": self.left, "x1": self.border, "y0": 0, "y1": 1}
        return [{**strip, "line": {"width": 0}, "fillcolor": "rgba(128,128,128,0.13)", "layer": "below"}]

    def _between(self) -> Iterable[float]:
        first, last = math.floor(math.log10(self.border)), math.ceil(math.log10(self.right))
        steps = (factor * 10.0**power for power in range(first, last) for factor in range(2, 10))
        return (value for value in steps if self.border < value < self.right)


def _plain(value: float) -> str:
    """Return a number in full, millions in short: 20,000; 6 M."""
    return f"{value / 1e6:,g} M" if value >= 1e6 else f"{value:,g}"


def _mathtext(value: float) -> str:
    return f"$10^{{{round(math.log10(value))}}}$"


def _html(value: float) -> str:
    return f"10<sup>{round(math.log10(value))}</sup>"
