"""A server of S3 for tests, moto in an environment of its own, and a proxy that breaks requests."""

from __future__ import annotations

import http.client
import os
import signal
import subprocess
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import IO

from tests.nodes import Node
from tests.supervised import free_port

MOTO = Path(__file__).parents[2] / ".venv-stores/bin/python"
BUCKET = "jobs"
SECRET = "wJalrXUtnFEMIK7MDENGbPxRfiCYEXAMPLEKEY"
_ANSWER_S = 20.0


def client_environment(port: int, address: str = "127.0.0.1") -> dict[str, str]:
    """Return the variables with which clients use the server on that port, and nothing else."""
    return {
        "AWS_ENDPOINT_URL": f"http://{address}:{port}",
        "AWS_ACCESS_KEY_ID": "AKIAIOSFODNN7EXAMPLE",
        "AWS_SECRET_ACCESS_KEY": SECRET,
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_CONFIG_FILE": os.devnull,
        "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
    }


_SERVER = """
import sys, threading, urllib.request
from moto.server import DomainDispatcherApplication, MotoRequestHandler, create_backend_app
from werkzeug.serving import make_server

application = DomainDispatcherApplication(create_backend_app)
lock = threading.Lock()

def answer(environ, start_response):
    with lock:  # moto looks at the condition of a write, and writes, in two steps
        return list(application(environ, start_response))

address, port, bucket = sys.argv[1:]
options = {"threaded": True, "request_handler": MotoRequestHandler}
server = make_server(address, int(port), answer, **options)
serving = threading.Thread(target=server.serve_forever)
serving.start()
url = f"http://{address}:{port}/{bucket}"
urllib.request.urlopen(urllib.request.Request(url, method="PUT"), timeout=60)
print("ready", flush=True)
serving.join()
"""


@contextmanager
def s3_server(log: Path) -> Iterator[tuple[int, subprocess.Popen[str]]]:
    """Run a server with an empty bucket; yield its port and its process."""
    port = free_port()
    command = (str(MOTO), "-c", _SERVER, "127.0.0.1", str(port), BUCKET)
    with open(log, "wb") as output, _serve(command, output) as process:
        yield port, process


@contextmanager
def s3_server_on(node: Node) -> Iterator[tuple[dict[str, str], subprocess.Popen[str]]]:
    """Run a server with an empty bucket on a node; yield the variables of its clients.

    Other nodes reach it, and nothing outside of them.  The server itself is killed with its node.
    """
    port = 9000
    command = node.command(str(MOTO), "-c", _SERVER, node.address, str(port), BUCKET)
    with _serve(command, subprocess.DEVNULL) as process:
        yield client_environment(port, node.address), process


@contextmanager
def _serve(command: Sequence[str], errors: int | IO[bytes]) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            yield process
        finally:
            process.send_signal(signal.SIGCONT)
            process.kill()


class FaultyProxy(ThreadingHTTPServer):
    """A proxy to a server of S3 that does the ``faults`` to the next requests, one to each.

    "throttle", "error" and "conflict" are answers with a code; "lose" passes the request on and
    closes the connection without the answer; "hang" never answers; "replace" passes the request on
    without its conditions; "pass" passes it on.
    """

    daemon_threads = True
    block_on_close = False

    def __init__(self, port: int) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.server_of = port
        self.faults: list[str] = []
        self.seen: list[str] = []
        self.released = threading.Event()

    def handle_error(self, request: object, client_address: object) -> None:
        """Ignore clients that have gone."""


_ANSWERS = {
    "throttle": (503, "SlowDown", "Please reduce your request rate."),
    "error": (500, "InternalError", "We encountered an internal error."),
    "conflict": (409, "ConditionalRequestConflict", "A conflicting operation occurred."),
    "deny": (403, "AccessDenied", "Access Denied"),
    "absent": (404, "NotFound", "Not Found"),
}


class _Handler(BaseHTTPRequestHandler):
    server: FaultyProxy
    protocol_version = "HTTP/1.1"

    def handle_any(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        fault = self.server.faults.pop(0) if self.server.faults else "pass"
        self.server.seen.append(f"{self.command} {fault}")
        self.close_connection = True
        if fault == "hang":
            self.server.released.wait()
        elif fault in _ANSWERS:
            status, code, text = _ANSWERS[fault]
            xml = f"<Error><Code>{code}</Code><Message>{text}</Message></Error>"
            self._answer(status, {"Content-Type": "application/xml"}, xml.encode())
        else:
            status, headers, data = self._forward(body, fault)
            if fault != "lose":
                self._answer(status, headers, data)

    do_GET = do_PUT = do_DELETE = do_HEAD = do_POST = handle_any  # noqa: N815 - as http.server

    def _forward(self, body: bytes, fault: str) -> tuple[int, dict[str, str], bytes]:
        dropped = ("If-None-Match",) if fault == "replace" else ()
        headers = {name: value for name, value in self.headers.items() if name not in dropped}
        headers.pop("Expect", None)
        server = http.client.HTTPConnection("127.0.0.1", self.server.server_of, timeout=_ANSWER_S)
        server.request(self.command, self.path, body, headers)
        answer = server.getresponse()
        data = answer.read()
        server.close()
        kept = {n: v for n, v in answer.getheaders() if n.lower() not in _CONNECTION}
        return answer.status, kept, data

    def _answer(self, status: int, headers: dict[str, str], data: bytes) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        if self.command != "HEAD":
            self.send_header("Content-Length", str(len(data)))
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as http.server
        """Print nothing."""


_CONNECTION = ("connection", "content-length", "transfer-encoding", "date", "server")


@contextmanager
def faulty_proxy(port: int) -> Iterator[FaultyProxy]:
    """Run a proxy to the server on that port."""
    proxy = FaultyProxy(port)
    thread = threading.Thread(target=proxy.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield proxy
    finally:
        proxy.released.set()
        proxy.shutdown()
        proxy.server_close()
        thread.join()
