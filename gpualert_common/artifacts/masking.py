"""Masks a long text in pieces, so that a deadline can end it in between."""

from __future__ import annotations

import copy
from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gpualert_common.redact import Redactor

PIECE_BYTES = 1 << 20
"""Takes some milliseconds; about a second where every line holds a secret."""
AROUND_BYTES = 16 << 10
"""More than any secret is long, a private key among them."""
_TRIES = 8
_STEP_BYTES = 997
"""Back from a place in a line that cannot be cut: not a multiple of anything that repeats."""


def mask(redactor: Redactor, data: bytes, check: Callable[[], None]) -> tuple[bytes, int]:
    """The bytes as if masked at once, and how many secrets there were.

    ``check`` is called before each piece, and ends it by raising.
    """
    before = redactor.found.total()
    done = []
    for piece in _pieces(redactor, data):
        check()
        done.append(redactor.data(piece))
    return b"".join(done), redactor.found.total() - before


def _pieces(redactor: Redactor, data: bytes) -> Iterator[bytes]:
    probe = copy.copy(redactor)
    probe.found = Counter()  # a look at a seam masks nothing that anybody gets
    begin = 0
    at = PIECE_BYTES
    while at + AROUND_BYTES < len(data):
        seam = _seam(probe, data, at)
        if seam > begin:
            yield data[begin:seam]
            begin = seam
        at = max(at, begin) + PIECE_BYTES
    yield data[begin:]


def _seam(probe: Redactor, data: bytes, at: int) -> int:
    """A place near ``at`` that no secret stands across; 0 where none was found."""
    for _ in range(_TRIES):
        at = (data.rfind(b"\n", max(0, at - AROUND_BYTES), at) + 1) or at
        left, right = data[max(0, at - AROUND_BYTES) : at], data[at : at + AROUND_BYTES]
        if probe.data(left + right) == probe.data(left) + probe.data(right):
            return at
        at = max(at - _STEP_BYTES, 1)
    return 0
