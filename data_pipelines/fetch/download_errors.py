"""Messages for failed downloads that tell the user what to do."""

import socket
import ssl
from collections.abc import Iterator

from data_pipelines.support.secrets import without_secrets


class DownloadError(ValueError):
    """A download that failed; the message is one clear line."""

    concerns_host = False
    """Whether other downloads from the same server would fail too."""


class RefusedError(DownloadError):
    """A failed download that is not worth another attempt."""

    def __init__(self, message: str, *, concerns_host: bool = False) -> None:
        super().__init__(message)
        self.concerns_host = concerns_host


def explain(error: Exception) -> str:
    """Return what went wrong; raise `RefusedError` if another attempt is pointless."""
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
            raise RefusedError(f"the address is not valid ({without_secrets(str(cause))})") from None
    if ConnectTimeoutError in kinds:
        return "timed out while connecting"
    if ReadTimeoutError in kinds or TimeoutError in kinds:
        return "timed out waiting for data"
    if any(issubclass(kind, ssl.SSLError) for kind in kinds):
        return f"TLS: {_innermost(causes)}"
    if ProtocolError in kinds or isinstance(error, ProtocolError):
        return f"the connection broke ({_innermost(causes)})"
    return f"no connection ({_innermost(causes)})"


def _certificate(error: ssl.SSLCertVerificationError) -> str:
    reason = getattr(error, "verify_message", "") or str(error)
    if "expired" in reason:
        return "the server's TLS certificate has expired, so the server cannot be trusted"
    return f"the server's TLS certificate is not valid ({reason}), so the server cannot be trusted"


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Yield an error and all errors wrapped in it, in whatever way the libraries wrap them."""
    queue: list[object] = [error]
    seen: set[int] = set()
    while queue:
        cause = queue.pop()
        if not isinstance(cause, BaseException) or id(cause) in seen:
            continue
        seen.add(id(cause))
        yield cause
        queue += [cause.__cause__, cause.__context__, getattr(cause, "reason", None), *cause.args]


def _innermost(causes: list[BaseException]) -> str:
    system = [cause for cause in causes if isinstance(cause, OSError) and cause.strerror]
    return str(system[-1].strerror) if system else without_secrets(str(causes[-1]))[:120]
