"""Masking of a stream in bounded memory."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from gpualert_common.artifacts.masking import AROUND_BYTES, PIECE_BYTES, mask_stream
from gpualert_common.redact import Redactor

SECRET = b"sk-proj-" + b"Ab3" * 16


def _split(text: bytes, size: int) -> Iterator[bytes]:
    return (text[begin : begin + size] for begin in range(0, len(text), size))


@pytest.mark.parametrize("size", [1 << 16, 99_991, 1 << 21])
def test_secret_at_every_seam(size: int) -> None:
    """A stream is masked as the whole text is, wherever its blocks and pieces end."""
    line = b"epoch 1 loss 0.5 " + b"x" * 60 + b"\n"
    secret = b"token " + SECRET + b"\n"
    text = b"".join(line * 12_600 + secret * 40 for _ in range(4))
    assert len(text) > 3 * PIECE_BYTES
    found = b"".join(mask_stream(Redactor(), _split(text, size)))
    assert found == Redactor().mask_bytes(text)
    assert SECRET not in found


def test_one_long_line() -> None:
    """A line of many megabytes without a break is passed on, masked."""
    text = b"x" * (PIECE_BYTES - 20) + b" " + SECRET + b" " + b"y" * (2 * PIECE_BYTES)
    found = b"".join(mask_stream(Redactor(), _split(text, 1 << 18)))
    assert SECRET not in found
    assert len(found) > len(text) - len(SECRET) - 100


def test_pieces_are_bounded() -> None:
    """No piece is much longer than the size of a piece, so that memory stays flat."""
    blocks = (b"step 1\n" * 10_000 for _ in range(200))
    assert max(map(len, mask_stream(Redactor(), blocks))) < PIECE_BYTES + 2 * AROUND_BYTES + 70_000
