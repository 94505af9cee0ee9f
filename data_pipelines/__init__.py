"""From an archive, or a generator, to a prepared, fingerprinted `EventStream`."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from data_pipelines.data_label import UnofficialDataWarning
    from data_pipelines.event_stream import EventStream
    from data_pipelines.streams.recorded import load
    from data_pipelines.streams.simulated import simulate

__all__ = ["EventStream", "UnofficialDataWarning", "load", "simulate"]

_MODULES = {
    "EventStream": "data_pipelines.event_stream",
    "UnofficialDataWarning": "data_pipelines.data_label",
    "load": "data_pipelines.streams.recorded",
    "simulate": "data_pipelines.streams.simulated",
}


def __getattr__(name: str) -> Any:
    """Import a public name on first use: `fedbandit --help` needs neither numpy nor pandas."""
    if name in _MODULES:
        return getattr(import_module(_MODULES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
