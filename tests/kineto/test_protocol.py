"""Datagrams of Kineto, and those that only look like them."""

from __future__ import annotations

import os
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpualert_common.kineto import protocol
from gpualert_common.kineto.protocol import Poll, Registration


def make_datagram(kind: bytes, payload: bytes, size: int | None = None) -> bytes:
    """Return a datagram with this size in its header, by default the true one."""
    return struct.pack("=Q32s", len(payload) if size is None else size, kind) + payload


POLL = struct.pack("=iiqii", 3, 2, 0, 4711, 1)


def test_question() -> None:
    """A question has the number of the process as it sees itself, and whether it is idle."""
    idle = protocol.parse_datagram(make_datagram(b"req", POLL))
    assert isinstance(idle, Poll)
    assert (idle.pid, idle.is_idle) == (4711, True)
    busy = protocol.parse_datagram(make_datagram(b"req", struct.pack("=iiqi", 1, 1, 7, 4711)))
    assert isinstance(busy, Poll)
    assert not busy.is_idle


def test_registration() -> None:
    """A report of a GPU is recognized."""
    datagram = make_datagram(b"ctxt", struct.pack("=iiq", 0, 4711, 0))
    assert isinstance(protocol.parse_datagram(datagram), Registration)


@pytest.mark.parametrize(
    "datagram",
    [
        b"",
        b"\0" * 39,
        b"\0" * 40,
        make_datagram(b"req", b""),
        make_datagram(b"req", POLL[:-1]),
        make_datagram(b"req", POLL + b"\0"),
        make_datagram(b"req", POLL, size=2**64 - 1),
        make_datagram(b"req", struct.pack("=iiq", 3, 0, 0)),
        make_datagram(b"req", struct.pack("=iiq", 3, -1, 0)),
        make_datagram(b"req", struct.pack("=iiqi", 3, 2**31 - 1, 0, 1)),
        make_datagram(b"req", struct.pack("=iiqi", 3, 1, 0, 0)),
        make_datagram(b"req", struct.pack("=iiqi", 3, 1, 0, -5)),
        make_datagram(b"ctxt", b"\0" * 15),
        make_datagram(b"perf", POLL),
        make_datagram(b"req\0x", POLL),
        make_datagram(b"\xff" * 32, POLL),
    ],
)
def test_hostile_datagram(datagram: bytes) -> None:
    """A datagram that Kineto does not send is no message."""
    assert protocol.parse_datagram(datagram) is None


@given(st.binary(max_size=200))
def test_any_payload(payload: bytes) -> None:
    """No bytes behind a valid header raise an error."""
    for kind in (b"req", b"ctxt"):
        protocol.parse_datagram(make_datagram(kind, payload))
    protocol.parse_datagram(payload)


def test_answers() -> None:
    """An answer has the kind of its question, and its own size."""
    assert protocol.format_configuration("A=1\n") == make_datagram(b"req", b"A=1\n")
    path = os.fsdecode(b"A=/\xff\n")
    assert protocol.format_configuration(path) == make_datagram(b"req", b"A=/\xff\n")
    assert protocol.format_configuration("") == make_datagram(b"req", b"")
    assert protocol.format_count(1) == make_datagram(b"ctxt", struct.pack("=i", 1))
