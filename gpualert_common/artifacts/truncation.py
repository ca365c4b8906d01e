"""Cutting of long texts to head and tail, with a mark and without partial secrets."""

from __future__ import annotations

MARGIN_BYTES = 16 << 10
"""Bytes read and masked beyond the kept ones, so that a secret at the cut is masked as a whole.
Longer than any key."""
_EDGE_BYTES = MARGIN_BYTES // 4
"""Bytes dropped at the outer edge of a piece, where half a secret can match no pattern."""
_MARK = "[... {} bytes left out ...]\n"
MARK_BYTES = len(_MARK.format(10**18)) + 1


def cut_head(masked: bytes, most: int, *, is_piece: bool = True) -> bytes:
    """Return the first ``most`` bytes at most, in whole lines unless they are too long.

    ``is_piece``: the bytes are part of a longer text.
    """
    if is_piece:
        edge = masked.rfind(b"\n", -_EDGE_BYTES) + 1
        masked = masked[: edge or -_EDGE_BYTES]
    head = masked[:most]
    if len(head) == len(masked):
        return head
    line = head.rfind(b"\n") + 1
    if line > len(head) // 2:
        return head[:line]
    return head[: len(head) - _count_incomplete(head)]


def cut_tail(masked: bytes, most: int, *, is_piece: bool = True) -> bytes:
    """Return the last ``most`` bytes at most, from the start of a line if one is near.

    ``is_piece``: the bytes are part of a longer text.
    """
    if is_piece:
        masked = masked[(masked.find(b"\n", 0, _EDGE_BYTES) + 1) or _EDGE_BYTES :]
    tail = masked[-most:] if most > 0 else b""
    if len(tail) == len(masked):
        return tail
    if masked[len(masked) - len(tail) - 1 : len(masked) - len(tail)] == b"\n":
        return tail
    line = tail.find(b"\n") + 1
    if 0 < line < len(tail) // 2:
        return tail[line:]
    return tail[_count_continuation(tail) :]


def mark_cut(count: int) -> bytes:
    """Return the line that replaces the removed bytes."""
    return _MARK.format(max(count, 1)).encode()


def join_ends(head: bytes, tail: bytes, count: int) -> bytes:
    """Return head and tail with the mark between them on a line of its own."""
    end = b"" if not head or head.endswith(b"\n") else b"\n"
    return head + end + mark_cut(count) + tail


def _count_incomplete(data: bytes) -> int:
    """Return the number of bytes at the end that belong to an incomplete character."""
    for back in range(1, min(3, len(data)) + 1):
        byte = data[-back]
        if byte >= 0xC0:
            whole = 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4
            return back if back < whole else 0
        if byte < 0x80:
            return 0
    return 0


def _count_continuation(data: bytes) -> int:
    """Return the number of bytes at the start that continue a character from before."""
    count = 0
    while count < min(3, len(data)) and 0x80 <= data[count] < 0xC0:
        count += 1
    return count
