"""Head and tail of a text that is too long, with the cut marked, and no secret at its edges."""

from __future__ import annotations

MARGIN_BYTES = 16 << 10
"""Read and masked beyond what is kept: a secret that the cut goes through is masked as a whole.
More than any key that a file of keys holds."""
_EDGE_BYTES = MARGIN_BYTES // 4
"""Never kept of a piece's outer edge, where half a secret may stand that no pattern knows."""
_MARK = "[... {} bytes left out ...]\n"
MARK_BYTES = len(_MARK.format(10**18)) + 1


def head_of(masked: bytes, most: int, *, cut: bool = True) -> bytes:
    """The first ``most`` bytes at most, whole lines where they are not too long.

    ``cut``: the bytes are a piece of something longer.
    """
    if cut:
        edge = masked.rfind(b"\n", -_EDGE_BYTES) + 1
        masked = masked[: edge or -_EDGE_BYTES]
    head = masked[:most]
    if len(head) == len(masked):
        return head
    line = head.rfind(b"\n") + 1
    if line > len(head) // 2:
        return head[:line]
    return head[: len(head) - _begun(head)]


def tail_of(masked: bytes, most: int, *, cut: bool = True) -> bytes:
    """The last ``most`` bytes at most, from the start of a line where that is near.

    ``cut``: the bytes are a piece of something longer.
    """
    if cut:
        masked = masked[(masked.find(b"\n", 0, _EDGE_BYTES) + 1) or _EDGE_BYTES :]
    tail = masked[-most:] if most > 0 else b""
    if len(tail) == len(masked):
        return tail
    if masked[len(masked) - len(tail) - 1 : len(masked) - len(tail)] == b"\n":
        return tail
    line = tail.find(b"\n") + 1
    if 0 < line < len(tail) // 2:
        return tail[line:]
    return tail[_continued(tail) :]


def left_out(count: int) -> bytes:
    """The line that stands for what was cut."""
    return _MARK.format(max(count, 1)).encode()


def joined(head: bytes, tail: bytes, count: int) -> bytes:
    """Head and tail with the mark on a line of its own between."""
    end = b"" if not head or head.endswith(b"\n") else b"\n"
    return head + end + left_out(count) + tail


def _begun(data: bytes) -> int:
    """How many bytes at the end belong to a character that is not whole."""
    for back in range(1, min(3, len(data)) + 1):
        byte = data[-back]
        if byte >= 0xC0:
            whole = 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4
            return back if back < whole else 0
        if byte < 0x80:
            return 0
    return 0


def _continued(data: bytes) -> int:
    """How many bytes at the start belong to a character that began before."""
    count = 0
    while count < min(3, len(data)) and 0x80 <= data[count] < 0xC0:
        count += 1
    return count
