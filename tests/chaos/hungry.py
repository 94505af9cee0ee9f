"""A user's algorithm that uses up the memory while a file `hungry` exists in the working directory.

With an even appetite, it is killed by SIGKILL while it holds the memory, as by the kernel's out-of-memory killer. With
an odd appetite, it reaches a limit of the address space, so that an allocation really fails.
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
    """Always chooses the same arm, given by its appetite."""

    appetite: int = 0

    def choose(self, client, contexts, rng):
        if Path("hungry").exists():
            eat_until_killed() if self.appetite % 2 == 0 else eat_up_to_a_limit()
        return self.appetite % len(contexts)

    def learn(self, client, context, reward):
        return Transfers()


def eat_until_killed():
    blocks = [b"x" * BLOCK for _ in range(12)]
    os.kill(os.getpid(), signal.SIGKILL)
    return blocks


def eat_up_to_a_limit():
    limits = resource.getrlimit(resource.RLIMIT_AS)
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + 4 * BLOCK, limits[1]))
    try:
        return [b"x" * BLOCK for _ in range(1000)]
    finally:
        resource.setrlimit(resource.RLIMIT_AS, limits)
