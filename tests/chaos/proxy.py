"""A proxy in front of a real MLflow server that corrupts some responses, chosen at random from a seed."""

import http.client
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from random import Random

FAULTS = (
    "returns 500",
    "executes, then returns 500",
    "closes the connection",
    "executes, then closes the connection",
    "hangs",
    "is slow",
)
CREATE = "/runs/create"


class Proxy(ThreadingHTTPServer):
    """Forwards requests to `port`. From the first run on, one in `one_in` requests meets a fault."""

    daemon_threads = True

    def __init__(self, port: int, random: Random, *, max_faults: int, one_in: float, hang_seconds: float) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.port, self.random, self.max_faults, self.one_in, self.hang_seconds = (
            port,
            random,
            max_faults,
            one_in,
            hang_seconds,
        )
        self.injected: Counter[str] = Counter()
        self.is_armed = False
        self._lock = threading.Lock()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def next_fault(self, path: str) -> str:
        """Return the fault for this request, or an empty text. The kinds alternate."""
        with self._lock:
            self.is_armed |= CREATE in path
            remaining = self.max_faults - self.injected.total()
            if not self.is_armed or remaining <= 0 or self.random.random() > 1 / self.one_in:
                return ""
            fault = FAULTS[self.injected.total() % len(FAULTS)]
            self.injected[fault] += 1
            return fault

    def handle_error(self, request: object, client_address: object) -> None:
        """Ignore clients that disconnect."""


class Handler(BaseHTTPRequestHandler):
    """Handles one request: forwards it, or not, and responds, or not."""

    protocol_version = "HTTP/1.1"
    server: Proxy

    def log_message(self, format: str, *arguments: object) -> None:
        """Print nothing."""

    def do_GET(self) -> None:
        fault = self.server.next_fault(self.path)
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if fault == "hangs":
            time.sleep(self.server.hang_seconds)
        if fault == "is slow":
            time.sleep(0.4)
        response = (500, b'{"error_code": "INTERNAL_ERROR", "message": "corrupted"}', "application/json")
        if fault not in ("returns 500", "closes the connection", "hangs"):
            forwarded = self._forward(body)
            response = response if "500" in fault else forwarded
        if fault.endswith(("closes the connection", "hangs")):
            self.close_connection = True
            return
        self.send_response(response[0])
        self.send_header("Content-Type", response[2])
        self.send_header("Content-Length", str(len(response[1])))
        self.end_headers()
        self.wfile.write(response[1])

    do_POST = do_PUT = do_PATCH = do_DELETE = do_GET

    def _forward(self, body: bytes) -> tuple[int, bytes, str]:
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=60)
        headers = {name: value for name, value in self.headers.items() if name.lower() not in ("host", "connection")}
        try:
            connection.request(self.command, self.path, body, {**headers, "Host": f"127.0.0.1:{self.server.port}"})
            response = connection.getresponse()
            return response.status, response.read(), response.headers.get("Content-Type", "text/plain")
        except OSError:
            return 502, b"no server", "text/plain"
        finally:
            connection.close()


@contextmanager
def corrupting(port: int, random: Random, *, max_faults: int, one_in: float, hang_seconds: float) -> Iterator[Proxy]:
    """Run a proxy in a thread until the block ends."""
    with Proxy(port, random, max_faults=max_faults, one_in=one_in, hang_seconds=hang_seconds) as proxy:
        thread = threading.Thread(target=proxy.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        try:
            yield proxy
        finally:
            proxy.shutdown()
            thread.join()
