"""What data are like: users, their activity, and how much of the reward is popularity."""

from dataclasses import dataclass

import numpy as np

from data_pipelines.event_stream import EventStream


@dataclass(frozen=True)
class DataProfile:
    """The sizes of a stream, the decisions per client, and what popularity alone earns.

    `popularity` is the normalised reward of a rule that knows, in hindsight, how often each item was the rewarded one,
    and always takes the item of the pool with the highest count; NaN in simulations.
    """

    name: str
    clients: int
    steps: int
    arms: int
    dimension: int
    activity: tuple[int, int, int, int, int]
    popularity: float

    def sentences(self) -> list[str]:
        """Return the profile in words."""
        least, first, median, third, most = self.activity
        sentences = [
            f"{self.clients:,} clients and {self.steps:,} decisions, each among {self.arms} items with "
            f"{self.dimension} features.",
            f"Decisions per client: {least:,} to {most:,}, half of the clients have {first:,} to {third:,} "
            f"(median {median:,}).",
        ]
        if np.isfinite(self.popularity):
            sentences.append(
                f"Always taking the most popular item, with counts known in hindsight, earns {self.popularity:.3g} "
                "times random choice; what a method earns above that is not popularity."
            )
        return sentences


def profile_stream(stream: EventStream) -> DataProfile:
    """Describe a stream."""
    counts = np.bincount(stream.client_numbers)
    quartiles = np.quantile(counts, [0, 0.25, 0.5, 0.75, 1], method="nearest")
    smallest, first, median, third, largest = (int(value) for value in quartiles)
    activity = (smallest, first, median, third, largest)
    sizes = (len(stream.client_ids), stream.steps, stream.arms, stream.dimension)
    return DataProfile(stream.name, *sizes, activity, _popularity(stream))


def _popularity(stream: EventStream) -> float:
    if stream.rewards.min() < 0 or not stream.random_reward:
        return float("nan")
    totals = np.bincount(stream.pools.ravel(), weights=stream.rewards.ravel(), minlength=len(stream.items))
    choices = totals[stream.pools].argmax(axis=1)
    return float(stream.rewards[np.arange(stream.steps), choices].sum()) / stream.random_reward
