"""Answers that come too late: not given, and noticed where one was."""

from __future__ import annotations

import os
import select
import socket
import struct
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from gpualert_common.kineto import daemon_socket
from gpualert_common.kineto.clients import POLL_S, Clients
from gpualert_common.kineto.daemon_socket import DaemonSocket
from gpualert_common.kineto.protocol import format_configuration
from gpualert_common.kineto.socket_directory import bind_socket, make_socket_directory
from tests.kineto.asking_program import open_client


@pytest.fixture
def ends(sockets: Path) -> Iterator[tuple[DaemonSocket, socket.socket]]:
    """A daemon's socket, and one of a process that has asked there."""
    directory = make_socket_directory({b"TMPDIR": os.fsencode(sockets)})
    with bind_socket(directory) as bound, open_client(directory) as client:
        client.connect(f"{directory}/dynolog")
        yield DaemonSocket(bound, directory), client


def ask(client: socket.socket) -> None:
    """Ask for a configuration."""
    payload = struct.pack("=iiqi", 3, 1, 0, 4711)
    client.send(struct.pack("=Q32s", len(payload), b"req") + payload)


def test_question_in_time(ends: tuple[DaemonSocket, socket.socket]) -> None:
    """A question has the process that the kernel names, and its answer comes back."""
    daemon, client = ends
    ask(client)
    (question,) = daemon.receive()
    assert question.pid == os.getpid()
    daemon.answer(question, format_configuration("A=1\n"))
    assert client.recv(100).endswith(b"A=1\n")
    assert not daemon.has_late_answer()


def test_question_that_has_waited(ends: tuple[DaemonSocket, socket.socket]) -> None:
    """A question that nobody read for 50 ms is late: its process may wait no more."""
    daemon, client = ends
    ask(client)
    select.select([daemon.fd], [], [], 5)
    asked_at = time.monotonic()
    while time.monotonic() < asked_at + 0.06:
        select.select([], [], [], 0.01)
    (question,) = daemon.receive()
    assert question.is_late


def test_answer_that_is_not_read(
    ends: tuple[DaemonSocket, socket.socket], monkeypatch: pytest.MonkeyPatch
) -> None:
    """An answer that its process did not read in time is noticed, once."""
    monkeypatch.setattr(daemon_socket, "_READ_WITHIN_S", 0.0)
    daemon, client = ends
    assert daemon.check_due_s is None
    for is_read in (False, True):
        ask(client)
        (question,) = daemon.receive()
        daemon.answer(question, format_configuration(""))
        if is_read:
            client.recv(100)
            client.recv(100)
        assert daemon.has_late_answer() is not is_read
        assert daemon.check_due_s is None


def test_skipped_question() -> None:
    """A process whose next question gets no answer is expected one period later."""
    clients = Clients()
    client = clients.note(1, 100.0)
    assert client.next_at(101.0) == 100.0 + POLL_S
    clients.skip_all()
    assert client.next_at(101.0) == 100.0 + 2 * POLL_S
    assert clients.find(2) is None
