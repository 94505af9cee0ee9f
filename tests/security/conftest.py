"""The command in this process, as for the tests of the benchmark."""

from tests.benchmark.conftest import fedbandit_here  # noqa: F401
