"""The methods: choose arms and exchange statistics. They use arrays only, no files and no MLflow.

A method declares itself in `methods`. Its implementation in `literal` follows the paper line by line; the one in
`kernels` is compiled and makes the same choices.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from algorithms.methods.async_linucb import AsyncLinUCB
    from algorithms.methods.async_linucb_am import AsyncLinUCBAM
    from algorithms.methods.async_linucb_as_published import AsyncLinUCBAsPublished
    from algorithms.methods.centralised_linucb import CentralisedLinUCB
    from algorithms.methods.hindsight_linear import HindsightLinear
    from algorithms.methods.item_rewards import ItemRewards
    from algorithms.methods.most_popular import MostPopular
    from algorithms.methods.most_seen import MostSeen
    from algorithms.methods.never_offered import NeverOffered
    from algorithms.methods.random_choice import RandomChoice
    from algorithms.methods.sync_linucb import SyncLinUCB
    from algorithms.trace import Trace, Transfers

__all__ = [
    "AsyncLinUCB",
    "AsyncLinUCBAM",
    "AsyncLinUCBAsPublished",
    "CentralisedLinUCB",
    "HindsightLinear",
    "ItemRewards",
    "MostPopular",
    "MostSeen",
    "NeverOffered",
    "RandomChoice",
    "SyncLinUCB",
    "Trace",
    "Transfers",
]

_MODULES = {
    "AsyncLinUCB": "algorithms.methods.async_linucb",
    "AsyncLinUCBAM": "algorithms.methods.async_linucb_am",
    "AsyncLinUCBAsPublished": "algorithms.methods.async_linucb_as_published",
    "RandomChoice": "algorithms.methods.random_choice",
    "SyncLinUCB": "algorithms.methods.sync_linucb",
    "CentralisedLinUCB": "algorithms.methods.centralised_linucb",
    "HindsightLinear": "algorithms.methods.hindsight_linear",
    "ItemRewards": "algorithms.methods.item_rewards",
    "MostPopular": "algorithms.methods.most_popular",
    "MostSeen": "algorithms.methods.most_seen",
    "NeverOffered": "algorithms.methods.never_offered",
    "Trace": "algorithms.trace",
    "Transfers": "algorithms.trace",
}


def __getattr__(name: str) -> Any:
    """Import a public name on first use: most commands need neither numba nor the methods."""
    if name in _MODULES:
        return getattr(import_module(_MODULES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
