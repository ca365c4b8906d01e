"""Tests of faults of Prefect's API: no task changes its state or waits long."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import shlex
import socket
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from prefect import flow, task
from prefect.settings import PREFECT_API_URL, temporary_settings
from prefect_gpualert import gpualert_run, publishing

from tests.prefect.test_publishing import NOT_ALL, Ended, ended

pytestmark = pytest.mark.usefixtures("harness")

DEADLINE_S = 1.0
MARGIN_S = 20.0
"""For a busy machine; Prefect waits a minute for the answer of a silent server."""
FAILS = shlex.join([sys.executable, "-c", "raise RuntimeError('the loss is gone')"])


@contextlib.contextmanager
def away() -> Iterator[int]:
    """No server listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield int(taken.getsockname()[1])


@contextlib.contextmanager
def silent() -> Iterator[int]:
    """The server accepts every connection and never answers."""
    with socket.create_server(("127.0.0.1", 0), backlog=64) as listener:
        yield int(listener.getsockname()[1])


def answering(status: Callable[[bytes], int], **headers: str) -> Callable[[], Any]:
    """An API whose answer to a request with that body has this status."""

    class Handler(BaseHTTPRequestHandler):
        def answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            answer = json.dumps({**json.loads(body or b"{}"), "id": str(uuid.uuid4())}).encode()
            code = 422 if "csrf" in self.path else status(body)  # it wants no tokens
            self.send_response(code)
            for name, value in headers.items():
                self.send_header(name.replace("_", "-"), value)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        do_GET = do_POST = do_PATCH = answer  # noqa: N815 - so they are called

        def log_message(self, *_args: object) -> None:
            """Print nothing."""

    @contextlib.contextmanager
    def api() -> Iterator[int]:
        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield server.server_port
        finally:
            server.shutdown()
            server.server_close()

    return api


FAULTS: dict[str, Callable[[], Any]] = {
    "away": away,
    "silent": silent,
    "error 500": answering(lambda _body: 500),
    "busy for a minute": answering(lambda _body: 503, Retry_After="60"),
    "no page taken": answering(lambda body: 413 if b"gpualert-" in body else 201),
    "no answer to make sense of": answering(lambda _body: 204),
}


@task
def train(port: int | None, command: str) -> Any:
    """Run a training whose posts go to that port."""
    if port is None:
        return gpualert_run.fn(command)
    with temporary_settings({PREFECT_API_URL: f"http://127.0.0.1:{port}/api"}):
        return gpualert_run.fn(command)


def play(port: int | None, command: str, way: str = "called", **options: Any) -> tuple[Ended, Any]:
    """Return the state of the task, and its result or error."""
    job = train.with_options(**options)

    @flow
    def called() -> tuple[Ended, Any]:
        if way == "submitted":
            future = job.submit(port, command)
            future.wait()
            state: Any = future.state
        else:
            state = job(port, command, return_state=True)
        value = state.result(raise_on_failure=False)
        return ended(state), repr(value)[:60]

    @flow
    async def awaited() -> tuple[Ended, Any]:
        return await asyncio.to_thread(called)

    return asyncio.run(awaited()) if way == "awaited" else called()


def warnings(caplog: pytest.LogCaptureFixture) -> list[int]:
    """Return the levels of the log lines about missing posts."""
    return [one.levelno for one in caplog.records if NOT_ALL in one.getMessage()]


@pytest.fixture(autouse=True)
def short_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    """The deadline is short, and the faults are reached."""
    monkeypatch.setattr(publishing, "DEADLINE_S", DEADLINE_S)


@pytest.mark.parametrize("command", ["echo done", FAILS], ids=["good", "bad"])
@pytest.mark.parametrize("name", FAULTS)
def test_task_is_unchanged(
    name: str,
    command: str,
    home: Path,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """State and result of the task are unchanged; one warning reports missing posts."""
    monkeypatch.setattr(publishing, "DEADLINE_S", 60.0)  # the server that works may be slow
    began = time.monotonic()
    usual = play(None, command)
    usual_s = time.monotonic() - began
    assert not warnings(caplog)
    monkeypatch.setattr(publishing, "DEADLINE_S", DEADLINE_S)
    with FAULTS[name]() as port:
        began = time.monotonic()
        done = play(port, command)
        took_s = time.monotonic() - began
    assert (done[0].name, done[1]) == (usual[0].name, usual[1])
    assert took_s < usual_s + DEADLINE_S + MARGIN_S
    assert warnings(caplog) == [logging.WARNING]


@pytest.mark.parametrize("way", ["submitted", "awaited"])
def test_in_other_threads(way: str, home: Path, caplog: pytest.LogCaptureFixture) -> None:
    """The same holds in threads and in event loops."""
    with silent() as port:
        done, value = play(port, "echo done", way)
    assert (done.name, value) == ("Completed", "'done'")
    assert warnings(caplog) == [logging.WARNING]


def test_time_of_the_task_is_not_used_up(
    home: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The wait for the API does not count towards the timeout of the task."""
    monkeypatch.setattr(publishing, "DEADLINE_S", 60.0)
    with silent() as port:
        done, value = play(port, "echo done", timeout_seconds=4)
    assert (done.name, value) == ("Completed", "'done'")
    assert warnings(caplog) == [logging.WARNING]


def test_time_out_is_unchanged(home: Path) -> None:
    """A task beyond its timeout is TimedOut in spite of a fault of the API."""
    with silent() as port:
        began = time.monotonic()
        done, _value = play(port, "sleep 60", timeout_seconds=2)
        took_s = time.monotonic() - began
    assert done.name == "TimedOut"
    assert took_s < 2 + DEADLINE_S + MARGIN_S


def test_progress_does_not_delay_the_task(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An API that hangs during a training blocks one thread, and does not delay the task."""
    monkeypatch.setattr(publishing, "PROGRESS_S", 0.1)
    command = "for step in 1 2 3 4 5 6 7 8; do echo step $step/9; sleep 0.2; done"
    with silent() as port:
        began = time.monotonic()
        done, _value = play(port, command)
        took_s = time.monotonic() - began
        ours = [one for one in threading.enumerate() if one.name == "gpualert-publish"]
    assert done.name == "Completed"
    assert took_s < 1.6 + DEADLINE_S + MARGIN_S
    assert len(ours) < 12


def test_without_a_thread(
    home: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A process that can start no thread publishes nothing, and logs it."""

    class NoThread:
        def __init__(self, **_options: object) -> None:
            raise RuntimeError("can't start new thread")

    @flow
    def outer() -> Any:
        monkeypatch.setattr(publishing.threading, "Thread", NoThread)  # type: ignore[attr-defined]
        try:
            return gpualert_run.fn("echo done")
        finally:
            monkeypatch.undo()

    assert outer() == "done"
    assert warnings(caplog) == [logging.WARNING]
