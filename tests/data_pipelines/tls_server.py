"""A real https server on loopback that misbehaves in a chosen way."""

import datetime
import ipaddress
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

NOW = datetime.datetime.now(datetime.UTC)
DAY = datetime.timedelta(days=1)


class Authority:
    """A certificate authority for one test run; clients trust `bundle`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "test authority")])
        constraints = x509.BasicConstraints(ca=True, path_length=None)
        certificate = self._sign(self._name, self._key, constraints, NOW + DAY)
        self.bundle = folder / "authority.pem"
        self.bundle.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))

    def server_certificate(self, *, expired: bool = False) -> Path:
        """Make a certificate for localhost; return a file with it and its key."""
        key = ec.generate_private_key(ec.SECP256R1())
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
        constraints = x509.BasicConstraints(ca=False, path_length=None)
        certificate = self._sign(name, key, constraints, NOW - DAY if expired else NOW + DAY)
        path = self._folder / f"server-{'expired' if expired else 'valid'}.pem"
        path.write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            )
            + certificate.public_bytes(serialization.Encoding.PEM)
        )
        return path

    def _sign(
        self,
        name: x509.Name,
        key: ec.EllipticCurvePrivateKey,
        constraints: x509.BasicConstraints,
        end: datetime.datetime,
    ) -> x509.Certificate:
        names = [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
        identifier = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
        issuer = x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key())
        return (
            x509.CertificateBuilder()
            .subject_name(name)
            .issuer_name(self._name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(NOW - 10 * DAY)
            .not_valid_after(end)
            .add_extension(x509.SubjectAlternativeName(names), critical=False)
            .add_extension(constraints, critical=True)
            .add_extension(identifier, critical=False)
            .add_extension(issuer, critical=False)
            .sign(self._key, hashes.SHA256())
        )


Behaviour = Callable[["Handler"], None]


class Handler(BaseHTTPRequestHandler):
    """Answers each request with the server's next behaviour; the last one is repeated."""

    protocol_version = "HTTP/1.1"
    server: "Server"

    def do_GET(self) -> None:
        self.server.requests.append((self.path, self.headers.get("Range")))
        behaviours = self.server.behaviours
        behaviour = behaviours.pop(0) if len(behaviours) > 1 else behaviours[0]
        behaviour(self)

    def log_message(self, format: str, *arguments: object) -> None:
        """Print nothing."""

    def answer(self, status: int, body: bytes = b"", **headers: str) -> None:
        self.start(status, **{"Content_Length": str(len(body)), **headers})
        self.wfile.write(body)

    def start(self, status: int, **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()

    def hang_up(self) -> None:
        self.wfile.flush()
        self.close_connection = True


class Server(ThreadingHTTPServer):
    """A server that records its requests in `requests`."""

    daemon_threads = True

    def __init__(self, certificate: Path) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        self.socket = context.wrap_socket(self.socket, server_side=True)
        self.behaviours: list[Behaviour] = []
        self.requests: list[tuple[str, str | None]] = []
        self.is_over = threading.Event()

    @property
    def address(self) -> str:
        return f"https://localhost:{self.server_port}"

    def handle_error(self, request: object, client_address: object) -> None:
        """Ignore clients that close the connection."""


@contextmanager
def running(certificate: Path) -> Iterator[Server]:
    """Run a server in a thread until the block ends."""
    with Server(certificate) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        try:
            yield server
        finally:
            server.is_over.set()
            server.shutdown()
            thread.join()


def whole(content: bytes, etag: str = '"1"') -> Behaviour:
    """Serve the content correctly, including ranges."""

    def serve(handler: Handler) -> None:
        byte_range = handler.headers.get("Range")
        is_unchanged = handler.headers.get("If-Range", etag) == etag
        if byte_range is None or not is_unchanged:
            handler.answer(200, content, ETag=etag)
            return
        start = int(byte_range.removeprefix("bytes=").removesuffix("-"))
        if start >= len(content):
            handler.answer(416, Content_Range=f"bytes */{len(content)}")
            return
        content_range = f"bytes {start}-{len(content) - 1}/{len(content)}"
        handler.answer(206, content[start:], ETag=etag, Content_Range=content_range)

    return serve


def cut_after(count: int, content: bytes, etag: str = '"1"') -> Behaviour:
    """Announce all requested bytes, send `count` of them, close the connection."""

    def serve(handler: Handler) -> None:
        byte_range = handler.headers.get("Range")
        start = int(byte_range.removeprefix("bytes=").removesuffix("-")) if byte_range else 0
        rest = content[start:]
        content_range = {"Content_Range": f"bytes {start}-{len(content) - 1}/{len(content)}"} if byte_range else {}
        handler.start(206 if byte_range else 200, Content_Length=str(len(rest)), ETag=etag, **content_range)
        handler.wfile.write(rest[:count])
        handler.hang_up()

    return serve


def ignoring_ranges(content: bytes) -> Behaviour:
    """Send everything, regardless of the requested range."""
    return lambda handler: handler.answer(200, content, ETag='"1"')


def stating_length(length: int, content: bytes) -> Behaviour:
    """Announce a wrong length."""

    def serve(handler: Handler) -> None:
        handler.answer(200, content, Content_Length=str(length), ETag='"1"')
        handler.hang_up()

    return serve


def status(code: int, **headers: str) -> Behaviour:
    """Answer with a status only."""
    return lambda handler: handler.answer(code, **headers)


def stalling_after(count: int, content: bytes) -> Behaviour:
    """Send some bytes, then nothing more, and keep the connection open."""

    def serve(handler: Handler) -> None:
        handler.start(200, Content_Length=str(len(content)))
        handler.wfile.write(content[:count])
        handler.wfile.flush()
        handler.server.is_over.wait(30)
        handler.close_connection = True

    return serve


def dripping(content: bytes) -> Behaviour:
    """Send single bytes, often enough to avoid any read timeout."""

    def serve(handler: Handler) -> None:
        handler.start(200, Content_Length=str(len(content)))
        for byte in content:
            handler.wfile.write(bytes([byte]))
            handler.wfile.flush()
            if handler.server.is_over.wait(0.1):
                break
        handler.close_connection = True

    return serve


def chunked(content: bytes, *, whole: bool) -> Behaviour:
    """Send chunks without a total length; if not `whole`, without the last one."""

    def serve(handler: Handler) -> None:
        handler.start(200, Transfer_Encoding="chunked")
        for start in range(0, len(content), 8_192):
            part = content[start : start + 8_192]
            handler.wfile.write(b"%x\r\n%s\r\n" % (len(part), part))
        if whole:
            handler.wfile.write(b"0\r\n\r\n")
        handler.hang_up()

    return serve
