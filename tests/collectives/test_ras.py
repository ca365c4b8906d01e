"""NCCL's RAS: the client against a server on loopback, both forms of the status, two readings."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest

from gpualert_common.collectives.analysis import find_stall
from gpualert_common.collectives.ras_client import RasError, parse_address, query_status
from gpualert_common.collectives.ras_status import parse_status
from gpualert_common.collectives.ras_traces import make_traces
from gpualert_common.collectives.stall import Stall, StallKind
from tests.collectives.ras_server import BEHIND, DEAD, HEAD, RasServer, make_json

EQUAL = [{"AllReduce": 6650, "Broadcast": 2}] * 8
BEHIND_COUNTS = [*EQUAL[:3], {"AllReduce": 6649, "Broadcast": 2}, *EQUAL[4:]]


@contextmanager
def serving(*statuses: str, has_json: bool = True, greeting: bytes = b"") -> Iterator[str]:
    """Serve these statuses; the value is the address."""
    with RasServer(statuses, has_json=has_json) as server:
        server.greeting = greeting or server.greeting
        server.start()
        yield server.address
        server.shutdown()


def stall_of(first: str, second: str) -> Stall | None:
    """Return the stall that two statuses show."""
    return find_stall(make_traces(parse_status(first), parse_status(second)))


@pytest.mark.parametrize("has_json", [True, False], ids=["json", "text"])
def test_client(has_json: bool) -> None:
    """The client takes JSON, or the text of a release without it."""
    status = make_json(BEHIND_COUNTS) if has_json else HEAD + BEHIND
    with serving(status, has_json=has_json) as address:
        assert query_status(address) == status


def test_no_answer() -> None:
    """A closed port, another server and a silent one are errors that name the address."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(RasError, match=f"RAS at {address} does not answer: Connection refused"):
            query_status(address)
        taken.listen()
        with pytest.raises(RasError, match="does not answer"):
            query_status(address, timeout_s=0.05)
    with (
        serving("", greeting=b"220 mail.example ESMTP\n") as address,
        pytest.raises(RasError, match="is not RAS"),
    ):
        query_status(address)


@pytest.mark.parametrize("address", ["", "host", "host:port", "host:99999", ":1"])
def test_wrong_address(address: str) -> None:
    """An address without host or port is refused."""
    with pytest.raises(RasError, match="no address"):
        parse_address(address)


def test_address() -> None:
    """An address of IPv6 has brackets."""
    assert parse_address("[::1]:28028") == ("::1", 28028)


@pytest.mark.parametrize("form", ["json", "text"])
def test_rank_behind(form: str) -> None:
    """Two readings with the same unequal counts show the rank that is behind."""
    status = make_json(BEHIND_COUNTS) if form == "json" else HEAD + BEHIND
    found = stall_of(status, status)
    assert found is not None
    assert (found.kind, found.culprits) == (StallKind.MISSING, (3,))
    assert found.waiting == (0, 1, 2, 4, 5, 6, 7)


def test_ranks_at_work() -> None:
    """Counts that change between the readings, or that are equal, are no stall."""
    later = [{name: count + 1 for name, count in one.items()} for one in BEHIND_COUNTS]
    assert stall_of(make_json(BEHIND_COUNTS), make_json(later)) is None
    assert stall_of(make_json(EQUAL), make_json(EQUAL)) is None


def test_other_operation() -> None:
    """A rank that launched another operation than the others is a mismatch."""
    other = [*EQUAL[:3], {"AllReduce": 6649, "Broadcast": 3}, *EQUAL[4:]]
    found = stall_of(make_json(other), make_json(other))
    assert found is not None
    assert (found.kind, found.culprits) == (StallKind.MISMATCH, (3,))
    assert (found.call, found.other_call) == ("all_reduce", "broadcast")


@pytest.mark.parametrize("form", ["json", "text"])
def test_dead_process(form: str) -> None:
    """A process that RAS considers dead is named, with its rank."""
    status = make_json(EQUAL, dead=[3]) if form == "json" else HEAD + DEAD
    (found,) = parse_status(status)
    assert (found.missing, found.dead) == ((3,), (3,))
    assert found.processes[3].gpu == 3


@pytest.mark.parametrize(
    "change",
    [{"size": 10**12}, {"size": 2}, {"size": float("inf")}, {"ranks": [[]]}, {"ranks": {"a": 1}}],
    ids=["huge", "too small", "infinite", "no rank", "no list"],
)
def test_hostile_status(change: dict[str, object]) -> None:
    """A communicator that contradicts itself is left out."""
    status = json.loads(make_json(BEHIND_COUNTS))
    status["communicators"][0].update(change)
    assert parse_status(json.dumps(status)) == []


def test_endless_answer() -> None:
    """An answer that does not end is given up at the deadline."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer() -> None:
            connection, _ = server.accept()
            with connection, suppress(OSError):
                connection.sendall(b"SERVER PROTOCOL 2\nOK\nOK\n")
                while True:
                    connection.sendall(b"{" * 1000)

        thread = threading.Thread(target=answer)
        thread.start()
        with pytest.raises(RasError, match=r"took too long|more than"):
            query_status(f"127.0.0.1:{server.getsockname()[1]}", timeout_s=0.3)
        thread.join()


@pytest.mark.parametrize("text", ["", "{}", "{", '{"communicators": [{}]}', "ERROR: no\n", "\x00"])
def test_no_status(text: str) -> None:
    """An answer that is no status has no communicators."""
    assert parse_status(text) == []
