"""The methods: choose arms and exchange statistics. They use arrays only, no files and no MLflow.

A method declares itself in `methods`. Its implementation in `literal` follows the paper line by line; the one in
`kernels` is compiled and makes the same choices.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from algorithms.methods.async_linucb import AsyncLinUCB, AsyncLinUCBAsPublished
    from algorithms.methods.async_linucb_am import AsyncLinUCBAM
    from algorithms.methods.rules import (
        CosinePopularity,
        HeldOutLikes,
        HeldOutPopularity,
        HindsightLinear,
        ItemRewards,
        MostPopular,
        MostSeen,
        NeverOffered,
        RandomChoice,
        Rocchio,
    )
    from algorithms.methods.sync_linucb import CentralisedLinUCB, SyncLinUCB
    from algorithms.trace import Trace, Transfers

__all__ = [
    "AsyncLinUCB",
    "AsyncLinUCBAM",
    "AsyncLinUCBAsPublished",
    "CentralisedLinUCB",
    "CosinePopularity",
    "HeldOutLikes",
    "HeldOutPopularity",
    "HindsightLinear",
    "ItemRewards",
    "MostPopular",
    "MostSeen",
    "NeverOffered",
    "RandomChoice",
    "Rocchio",
    "SyncLinUCB",
    "Trace",
    "Transfers",
]


def __getattr__(name: str) -> Any:
    """Import a public name on first use: most commands need neither numba nor the methods."""
    if name in ("Trace", "Transfers"):
        return getattr(import_module("algorithms.trace"), name)
    if name in __all__:
        methods = import_module("algorithms.registry").built_in_methods().values()
        return next(each.method for each in methods if each.method.__name__ == name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
