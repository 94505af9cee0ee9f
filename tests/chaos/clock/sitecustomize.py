"""A clock that is set back from time to time, in every Python process with this folder first on its path.

Every jump is a line in the file CLOCK_JUMPS.
"""

import os
import random
import time

_original_time, _original_time_ns = time.time, time.time_ns
_random = random.Random(int(os.environ["CLOCK_SEED"]) + os.getpid() % 7)
_state = {"behind": 0.0, "calls": 0, "jumps": 0}


def _offset() -> float:
    _state["calls"] += 1
    if _state["calls"] % 4 == 0 and _state["jumps"] < int(os.environ["CLOCK_MAX_JUMPS"]):
        _state["jumps"] += 1
        _state["behind"] += _random.choice([0.5, 30.0, 3_600.0, 90_000.0])
        with open(os.environ["CLOCK_JUMPS"], "a") as file:  # noqa: PTH123 - this module imports as little as possible
            file.write(f"{os.getpid()} {_state['behind']}\n")
    return _state["behind"]


time.time = lambda: _original_time() - _offset()
time.time_ns = lambda: _original_time_ns() - int(_offset() * 1e9)
