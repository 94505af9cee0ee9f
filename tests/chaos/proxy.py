"""A proxy in front of a real MLflow server that spoils some of the answers, by the dice of a seed."""

import http.client
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from random import Random

FAULTS = ("answers 500", "does it, then answers 500", "hangs up", "does it, then hangs up", "hangs", "is slow")
CREATE = "/runs/create"


class Proxy(ThreadingHTTPServer):
    """Passes requests on to `port`. From the first run on, every `one_in`-th request meets a fault."""

    daemon_threads = True

    def __init__(self, port: int, random: Random, *, most: int, one_in: float, hang_seconds: float) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.port, self.random, self.most, self.one_in, self.hang_seconds = port, random, most, one_in, hang_seconds
        self.injected: Counter[str] = Counter()
        self.is_armed = False
        self._lock = threading.Lock()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def next_fault(self, path: str) -> str:
        """Return the fault that this request meets; empty if none. The kinds take turns."""
        with self._lock:
            self.is_armed |= CREATE in path
            left = self.most - self.injected.total()
            if not self.is_armed or left <= 0 or self.random.random() > 1 / self.one_in:
                return ""
            fault = FAULTS[self.injected.total() % len(FAULTS)]
            self.injected[fault] += 1
            return fault

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that has gone is no news."""


class Handler(BaseHTTPRequestHandler):
    """One request: passed on, or not, and answered, or not."""

    protocol_version = "HTTP/1.1"
    server: Proxy

    def log_message(self, format: str, *arguments: object) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        fault = self.server.next_fault(self.path)
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if fault == "hangs":
            time.sleep(self.server.hang_seconds)
        if fault == "is slow":
            time.sleep(0.4)
        answer = (500, b'{"error_code": "INTERNAL_ERROR", "message": "spoilt"}', "application/json")
        if fault not in ("answers 500", "hangs up", "hangs"):
            passed_on = self._pass_on(body)
            answer = answer if "500" in fault else passed_on
        if fault.endswith(("hangs up", "hangs")):
            self.close_connection = True
            return
        self.send_response(answer[0])
        self.send_header("Content-Type", answer[2])
        self.send_header("Content-Length", str(len(answer[1])))
        self.end_headers()
        self.wfile.write(answer[1])

    do_POST = do_PUT = do_PATCH = do_DELETE = do_GET

    def _pass_on(self, body: bytes) -> tuple[int, bytes, str]:
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=60)
        kept = {name: value for name, value in self.headers.items() if name.lower() not in ("host", "connection")}
        try:
            connection.request(self.command, self.path, body, {**kept, "Host": f"127.0.0.1:{self.server.port}"})
            response = connection.getresponse()
            return response.status, response.read(), response.headers.get("Content-Type", "text/plain")
        except OSError:
            return 502, b"no server", "text/plain"
        finally:
            connection.close()


@contextmanager
def spoiling(port: int, random: Random, *, most: int, one_in: float, hang_seconds: float) -> Iterator[Proxy]:
    """Run a proxy in a thread while the block lasts."""
    with Proxy(port, random, most=most, one_in=one_in, hang_seconds=hang_seconds) as proxy:
        thread = threading.Thread(target=proxy.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        try:
            yield proxy
        finally:
            proxy.shutdown()
            thread.join()
