"""A web server on loopback that stores its requests and gives the answers of a test."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Request:
    """One request."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """The body, parsed."""
        return json.loads(self.body)


@dataclass
class WebServer:
    """Its port, and the requests that it received."""

    port: int
    requests: list[Request] = field(default_factory=list)


@contextmanager
def web_server(
    answer: Callable[[Request], int] = lambda _request: 200,
    *,
    body: bytes = b'{"ok": true}',
    headers: Mapping[str, str] | None = None,
) -> Iterator[WebServer]:
    """Run a server whose status is the result of ``answer``; 0 means no answer."""
    stopped = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def handle_request(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            given = {name.lower(): value for name, value in self.headers.items()}
            request = Request(self.command, self.path, given, self.rfile.read(length))
            server.requests.append(request)
            status = answer(request)
            if status == 0:
                stopped.wait()
                return
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            for name, value in (headers or {}).items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        do_POST = do_PUT = do_GET = handle_request  # noqa: N815 - names of http.server

        def log_message(self, *_: Any) -> None:
            """Log nothing."""

    listening = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server = WebServer(listening.server_port)
    serving = threading.Thread(target=listening.serve_forever, kwargs={"poll_interval": 0.01})
    serving.start()
    try:
        yield server
    finally:
        stopped.set()
        listening.shutdown()
        serving.join()
        listening.server_close()
