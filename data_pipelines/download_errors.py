"""Why a download failed, in words a user can act on."""

import socket
import ssl
from collections.abc import Iterator

from data_pipelines.secrets import without_secrets


class DownloadError(ValueError):
    """A download that did not work out; the message is one clear line."""

    concerns_host = False
    """Whether nothing else can be had from that server either, for now."""


class RefusedError(DownloadError):
    """A download that trying again would not help."""

    def __init__(self, message: str, *, concerns_host: bool = False) -> None:
        super().__init__(message)
        self.concerns_host = concerns_host


def explain(error: Exception) -> str:
    """Say what went wrong; raise `RefusedError` where trying again is pointless."""
    from requests.exceptions import InvalidSchema, InvalidURL
    from urllib3.exceptions import ConnectTimeoutError, NameResolutionError, ProtocolError, ReadTimeoutError

    causes = list(_causes(error))
    kinds = tuple(type(cause) for cause in causes)
    for cause in causes:
        if isinstance(cause, ssl.SSLCertVerificationError):
            raise RefusedError(_certificate(cause), concerns_host=True) from None
        if isinstance(cause, NameResolutionError | socket.gaierror):
            raise RefusedError(
                "DNS: the server's name cannot be resolved; is there a network?", concerns_host=True
            ) from None
        if isinstance(cause, InvalidURL | InvalidSchema):
            raise RefusedError(f"the address cannot be used ({without_secrets(str(cause))})") from None
    if ConnectTimeoutError in kinds:
        return "time-out: the server does not take the connection"
    if ReadTimeoutError in kinds or TimeoutError in kinds:
        return "time-out: the server sends nothing"
    if any(issubclass(kind, ssl.SSLError) for kind in kinds):
        return f"TLS: {_innermost(causes)}"
    if ProtocolError in kinds or isinstance(error, ProtocolError):
        return f"the connection broke ({_innermost(causes)})"
    return f"no connection ({_innermost(causes)})"


def _certificate(error: ssl.SSLCertVerificationError) -> str:
    reason = getattr(error, "verify_message", "") or str(error)
    if "expired" in reason:
        return "the server's TLS certificate has expired, so that nothing from there can be trusted"
    return f"the server's TLS certificate is not valid ({reason}), so that nothing from there can be trusted"


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Walk through the errors wrapped in an error, however the libraries wrapped them."""
    waiting: list[object] = [error]
    seen: set[int] = set()
    while waiting:
        cause = waiting.pop()
        if not isinstance(cause, BaseException) or id(cause) in seen:
            continue
        seen.add(id(cause))
        yield cause
        waiting += [cause.__cause__, cause.__context__, getattr(cause, "reason", None), *cause.args]


def _innermost(causes: list[BaseException]) -> str:
    system = [cause for cause in causes if isinstance(cause, OSError) and cause.strerror]
    return str(system[-1].strerror) if system else without_secrets(str(causes[-1]))[:120]
