"""The server of the metrics: its socket, its limits, and the requests that it answers."""

from __future__ import annotations

import ipaddress
import socket
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

from gpualert_common.errors import UsageError
from gpualert_common.exporter.exposition import CONTENT_TYPE
from gpualert_common.exporter.page import MetricsPage
from gpualert_common.structs import Struct

DEFAULT_PORT = 10789
"""Prometheus' list of ports has all those from 9100 to 9999 in use, and not this one."""
LOOPBACK = "127.0.0.1"
PATH = "/metrics"
_IDLE_S = 10.0
MOST_REQUEST_S = 20.0
"""Longest life of a connection, which a client that sends byte by byte cannot extend."""
_MOST_CONNECTIONS = 32
_BACKLOG = 32


class ListenAddress(Struct, frozen=True):
    """An address of this machine and a port; 0 is a free one."""

    host: str = LOOPBACK
    port: int = DEFAULT_PORT

    @property
    def is_local(self) -> bool:
        """True if only this machine can connect."""
        return _is_loopback(self.host)


def parse_address(text: str) -> ListenAddress:
    """Return the address of ``HOST:PORT``, ``[HOST]:PORT``, ``HOST`` or ``:PORT``.

    Without a host it is loopback.  Raises ValueError.
    """
    parts = urlsplit(f"//{text}")
    port = DEFAULT_PORT if parts.port is None else parts.port
    if parts.netloc != text or "@" in text:
        raise ValueError(f"{text!r} is not an address such as {LOOPBACK}:{DEFAULT_PORT}")
    return ListenAddress(parts.hostname or LOOPBACK, port)


def serve(address: ListenAddress, page: MetricsPage, on_ready: Callable[[str], None]) -> None:
    """Serve the metrics until a signal ends this process.

    ``on_ready`` gets the URL once connections are accepted.  Raises UsageError if the address
    cannot be used.
    """
    with open_server(address, page) as server:
        host, port = server.server_address[:2]
        shown = f"[{host!s}]" if ":" in str(host) else str(host)
        on_ready(f"http://{shown}:{port}{PATH}")
        server.serve_forever()


def open_server(address: ListenAddress, page: MetricsPage) -> MetricsServer:
    """Return a server that listens.  Raises UsageError if the address cannot be used."""
    try:
        found = socket.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)
        return MetricsServer(
            found[0][0], (str(found[0][4][0]), address.port), address.is_local, page
        )
    except (OSError, UnicodeError) as error:  # UnicodeError: no name of a host
        why = getattr(error, "strerror", None) or "it is no name of a host"
        text = f"cannot listen on {address.host}, port {address.port}: {why}"
        raise UsageError(f"{text}; choose another address with --listen") from None


class MetricsServer(ThreadingHTTPServer):
    """Server with a limit of its connections; a page of another site cannot read from it."""

    daemon_threads = True
    request_queue_size = _BACKLOG

    def __init__(
        self,
        family: socket.AddressFamily,
        address: tuple[str, int],
        is_local: bool,
        page: MetricsPage,
    ) -> None:
        self.address_family = family
        self.page = page
        self.is_local = is_local
        self._free = threading.BoundedSemaphore(_MOST_CONNECTIONS)
        super().__init__(address, _Handler)

    def server_bind(self) -> None:
        """Bind the socket, without a look-up of the name of its address, which may take long."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(self.server_address)
        self.server_address = self.socket.getsockname()
        self.server_name, self.server_port = str(self.server_address[0]), self.server_address[1]

    def verify_request(self, request: object, client_address: object) -> bool:  # noqa: ARG002
        """Return False, which closes the connection, if there are too many."""
        return self._free.acquire(blocking=False)

    def process_request(self, request: object, client_address: object) -> None:
        """Start a thread that answers.  Raises RuntimeError if there are too many threads."""
        try:
            super().process_request(request, client_address)  # type: ignore[arg-type]
        except BaseException:
            self._free.release()
            raise

    def process_request_thread(self, request: object, client_address: object) -> None:
        """Answer the request of one connection."""
        try:
            super().process_request_thread(request, client_address)  # type: ignore[arg-type]
        finally:
            self._free.release()

    def handle_error(self, request: object, client_address: object) -> None:
        """Ignore a connection that was broken off."""


class _Handler(BaseHTTPRequestHandler):
    """Answers the one request of a connection."""

    server: MetricsServer
    timeout = _IDLE_S
    server_version = "gpualert"
    sys_version = ""

    def handle(self) -> None:
        """Answer the request, if it arrives in time."""
        timer = threading.Timer(MOST_REQUEST_S, self._cut)
        timer.daemon = True
        timer.start()
        try:
            super().handle()
        finally:
            timer.cancel()

    def do_GET(self) -> None:
        """Answer with the page, or with the reason why there is none."""
        if not self._has_known_name():
            self._answer(421, b"This server does not answer to this name.\n")
        elif urlsplit(self.path).path == PATH:
            page = self.server.page.get()
            if page is None:
                self._answer(503, b"The runs are not read yet.\n")
            else:
                self._answer(200, page, CONTENT_TYPE)
        elif self.path == "/":
            self._answer(200, f"Metrics of gpualert: {PATH}\n".encode())
        else:
            self._answer(404, f"Not found. The metrics are at {PATH}\n".encode())

    def do_HEAD(self) -> None:
        """Answer as to GET, without the page."""
        self.do_GET()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name there
        """Print nothing."""

    def _cut(self) -> None:
        try:
            self.connection.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass  # it is closed

    def _answer(
        self, status: int, body: bytes, content_type: str = "text/plain; charset=utf-8"
    ) -> None:
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("X-Content-Type-Options", "nosniff")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def _has_known_name(self) -> bool:
        """True unless the name of another site was made to resolve to loopback (DNS rebinding)."""
        if not self.server.is_local:
            return True
        try:
            return _is_loopback(urlsplit(f"//{self.headers.get('Host', '')}").hostname or "")
        except ValueError:
            return False


def _is_loopback(host: str) -> bool:
    """True for an address of loopback, which no name server can make another one, and its name."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
