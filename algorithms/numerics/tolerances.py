"""Tolerances for equality, zero and convergence, shared by all implementations."""

TIE = 1e-9
"""A score within TIE·(1 + |best|) of the best is a tie, so that rounding does not distinguish equal arms."""

TRIGGER = 1e-9
"""A log-ratio within TRIGGER of the log-threshold counts as equal to it (Sync: within TRIGGER·(1 + D) of D)."""

RANK = 1e-10
"""Eigenvalues of a Gram matrix below RANK times the largest are zero."""

AM_STOP = 1e-12
"""Alternating minimisation stops when neither partial reward moves by more than this."""

AM_SETTLED = 1e-6
"""A step whose last movement exceeds this is counted as unsettled."""

EDGE = 1e-9
"""Two estimates are neighbours if their distance is below (1 - EDGE) times the limit."""
