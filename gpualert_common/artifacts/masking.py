"""Masking of long texts in pieces: a deadline can stop it in between, and a stream fits memory."""

from __future__ import annotations

import copy
from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from gpualert_common.redact import Redactor

PIECE_BYTES = 1 << 20
"""Takes some milliseconds; about a second if every line contains a secret."""
AROUND_BYTES = 16 << 10
"""Longer than any secret, private keys included."""
_MOST_WAITING_BYTES = 8 << 20
"""Part of a stream that is searched for a place to cut it."""
_TRIES = 8
_STEP_BYTES = 997
"""Step back from a place that cannot be cut; a prime, so that it fits no repeating pattern."""


def mask_in_pieces(redactor: Redactor, data: bytes, check: Callable[[], None]) -> tuple[bytes, int]:
    """Return the bytes as if masked at once, and the number of secrets.

    Calls ``check`` before each piece; an exception that it raises stops the masking.
    """
    before = redactor.found.total()
    done = []
    for piece in _split(redactor, data):
        check()
        done.append(redactor.mask_bytes(piece))
    return b"".join(done), redactor.found.total() - before


def mask_stream(redactor: Redactor, blocks: Iterable[bytes]) -> Iterator[bytes]:
    """Yield a text as if it were masked at once, in memory for a few megabytes of it.

    This holds for secrets of at most :data:`AROUND_BYTES`.  A part that cannot be cut without
    cutting a secret is left out, and a line says so.
    """
    waiting = b""
    for block in blocks:
        waiting += block
        while len(waiting) >= PIECE_BYTES + AROUND_BYTES:
            seam = _find_seam(_copy_uncounted(redactor), waiting, PIECE_BYTES)
            if seam:
                yield redactor.mask_bytes(waiting[:seam])
                waiting = waiting[seam:]
            elif len(waiting) > _MOST_WAITING_BYTES:
                yield f"\n[... {len(waiting)} bytes left out: no end of a secret ...]\n".encode()
                waiting = b""
            else:
                break
    yield redactor.mask_bytes(waiting)


def _copy_uncounted(redactor: Redactor) -> Redactor:
    """Return a redactor with the same secrets, whose finds are not counted."""
    probe = copy.copy(redactor)
    probe.found = Counter()
    return probe


def _split(redactor: Redactor, data: bytes) -> Iterator[bytes]:
    probe = _copy_uncounted(redactor)
    begin = 0
    at = PIECE_BYTES
    while at + AROUND_BYTES < len(data):
        seam = _find_seam(probe, data, at)
        if seam > begin:
            yield data[begin:seam]
            begin = seam
        at = max(at, begin) + PIECE_BYTES
    yield data[begin:]


def _find_seam(probe: Redactor, data: bytes, at: int) -> int:
    """Return a place near ``at`` that lies in no secret; 0 where none is found."""
    for _ in range(_TRIES):
        at = (data.rfind(b"\n", max(0, at - AROUND_BYTES), at) + 1) or at
        left, right = data[max(0, at - AROUND_BYTES) : at], data[at : at + AROUND_BYTES]
        if probe.mask_bytes(left + right) == probe.mask_bytes(left) + probe.mask_bytes(right):
            return at
        at = max(at - _STEP_BYTES, 1)
    return 0
