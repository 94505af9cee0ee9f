"""An algorithm of a user that takes all memory while a file `hungry` lies beside it.

Even appetites die as the kernel's out-of-memory killer would have it, by SIGKILL with the memory in hand; odd ones run
into a limit of their address space, so that an allocation really fails.
"""

import os
import resource
import signal
from dataclasses import dataclass
from pathlib import Path

from algorithms import Transfers

BLOCK = 1 << 25


@dataclass
class Hungry:
    """Takes the arm of its appetite."""

    appetite: int = 0

    def choose(self, client, contexts, rng):
        if Path("hungry").exists():
            eat_until_killed() if self.appetite % 2 == 0 else eat_up_to_a_limit()
        return self.appetite % len(contexts)

    def learn(self, client, context, reward):
        return Transfers()


def eat_until_killed():
    eaten = [b"x" * BLOCK for _ in range(12)]
    os.kill(os.getpid(), signal.SIGKILL)
    return eaten


def eat_up_to_a_limit():
    before = resource.getrlimit(resource.RLIMIT_AS)
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + 4 * BLOCK, before[1]))
    try:
        return [b"x" * BLOCK for _ in range(1000)]
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)
