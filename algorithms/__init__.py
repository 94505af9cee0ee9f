"""The methods: choose arms and exchange statistics. They use arrays only, no files and no MLflow.

A method declares itself in `methods`. Its implementation in `literal` follows the paper line by line; the one in
`kernels` is compiled and makes the same choices.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from algorithms.messages import Client, Message, Problem, Server, for_purpose, pack, unpack
    from algorithms.methods.async_lints import AsyncLinTS
    from algorithms.methods.async_linucb import AsyncLinUCB, AsyncLinUCBAsPublished
    from algorithms.methods.async_linucb_am import AsyncLinUCBAM
    from algorithms.methods.async_linucb_shrunk import AsyncLinUCBShrunk
    from algorithms.methods.async_linucb_then_alone import AsyncLinUCBThenAlone
    from algorithms.methods.fclub import FCLUB
    from algorithms.methods.fed_igw import FedIGW
    from algorithms.methods.fed_linucb import FedLinUCB
    from algorithms.methods.mean_linucb import MeanLinUCB
    from algorithms.methods.private_fed_linucb import PrivateFedLinUCB
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
    from algorithms.methods.sync_linucb import CentralisedLinUCB, DisLinUCB, SyncLinUCB
    from algorithms.trace import Trace, Transfers

__all__ = [
    "FCLUB",
    "AsyncLinTS",
    "AsyncLinUCB",
    "AsyncLinUCBAM",
    "AsyncLinUCBAsPublished",
    "AsyncLinUCBShrunk",
    "AsyncLinUCBThenAlone",
    "CentralisedLinUCB",
    "Client",
    "CosinePopularity",
    "DisLinUCB",
    "FedIGW",
    "FedLinUCB",
    "HeldOutLikes",
    "HeldOutPopularity",
    "HindsightLinear",
    "ItemRewards",
    "MeanLinUCB",
    "Message",
    "MostPopular",
    "MostSeen",
    "NeverOffered",
    "PrivateFedLinUCB",
    "Problem",
    "RandomChoice",
    "Rocchio",
    "Server",
    "SyncLinUCB",
    "Trace",
    "Transfers",
    "for_purpose",
    "pack",
    "unpack",
]

MODULES = {
    **dict.fromkeys(("Trace", "Transfers"), "algorithms.trace"),
    **dict.fromkeys(("Client", "Message", "Problem", "Server", "for_purpose", "pack", "unpack"), "algorithms.messages"),
}
"""Where the names are that are not methods."""


def __getattr__(name: str) -> Any:
    """Import a public name on first use: most commands need neither numba nor the methods."""
    if name in MODULES:
        return getattr(import_module(MODULES[name]), name)
    if name in __all__:
        methods = import_module("algorithms.registry").built_in_methods().values()
        return next(each.method for each in methods if each.method.__name__ == name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
