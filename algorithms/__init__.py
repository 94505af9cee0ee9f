"""The paper's methods: choose arms and exchange statistics. Knows arrays; not files, not MLflow.

`literal` reads like the paper; the modules named after the methods run compiled and make the same choices.
"""

from algorithms.as_published import AsyncLinUCBAsPublished
from algorithms.async_linucb import AsyncLinUCB
from algorithms.async_linucb_am import AsyncLinUCBAM
from algorithms.random_choice import RandomChoice
from algorithms.sync_linucb import SyncLinUCB
from algorithms.trace import Trace, Transfers

__all__ = [
    "AsyncLinUCB",
    "AsyncLinUCBAM",
    "AsyncLinUCBAsPublished",
    "RandomChoice",
    "SyncLinUCB",
    "Trace",
    "Transfers",
]
