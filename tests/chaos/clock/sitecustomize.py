"""A clock that is set back now and then, in every Python process that finds this file first.

Every jump is a line in the file that CLOCK_JUMPS names.
"""

import os
import random
import time

_true_time, _true_time_ns = time.time, time.time_ns
_random = random.Random(int(os.environ["CLOCK_SEED"]) + os.getpid() % 7)
_state = {"behind": 0.0, "calls": 0, "jumps": 0}


def _now_and_then() -> float:
    _state["calls"] += 1
    if _state["calls"] % 4 == 0 and _state["jumps"] < int(os.environ["CLOCK_MOST"]):
        _state["jumps"] += 1
        _state["behind"] += _random.choice([0.5, 30.0, 3_600.0, 90_000.0])
        with open(os.environ["CLOCK_JUMPS"], "a") as file:  # noqa: PTH123 - as little as possible is imported here
            file.write(f"{os.getpid()} {_state['behind']}\n")
    return _state["behind"]


time.time = lambda: _true_time() - _now_and_then()
time.time_ns = lambda: _true_time_ns() - int(_now_and_then() * 1e9)
