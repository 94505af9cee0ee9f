"""Hypothesis profiles: `ci` repeats the same examples; `search` looks for new ones; `interpreted` is short.

HYPOTHESIS_PROFILE names the one to use.
"""

import os
import signal

from hypothesis import HealthCheck, settings

settings.register_profile(
    "ci", max_examples=40, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck)
)
settings.register_profile("search", max_examples=1500, deadline=None, suppress_health_check=list(HealthCheck))
settings.register_profile(  # kernels in plain Python (NUMBA_DISABLE_JIT=1) are a thousand times slower
    "interpreted", max_examples=3, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck)
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))

# A shell that starts the tests in the background lets them ignore Ctrl-C, and all that they start would inherit it.
signal.signal(signal.SIGINT, signal.default_int_handler)
