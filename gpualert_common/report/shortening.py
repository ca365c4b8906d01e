"""The parts that a message leaves out when it is too long, and their order.

No message has more than 200 rows of a manifest.  Where that is too long, parts are left out in this
order: rows, down to thirty; lines of the log from the front, down to ten; rows, down to five; the
excerpts of the evidence; its claims, down to the first; all lines of the log; all rows.  A text
that is still too long is cut, and a mark says how much is missing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from gpualert_common.report.run_view import RunView
from gpualert_common.structs import replace

LOG_LINES, ARTIFACTS, EXCERPTS, CLAIMS = "log_lines", "artifacts", "excerpts", "claims"
STEPS = (
    (ARTIFACTS, 30),
    (LOG_LINES, 10),
    (ARTIFACTS, 5),
    (EXCERPTS, 0),
    (CLAIMS, 1),
    (LOG_LINES, 0),
    (ARTIFACTS, 0),
)
"""Parts, and the number of items that each keeps in this step."""
MOST_ROWS = 200
"""Rows of the manifest in any message: more are not read, and the record has all."""
_SHORT_MARK = "[cut]"

Write = Callable[[RunView, Mapping[str, int]], str]
"""Writes a view, given the number of items left out of each part."""


def shorten(view: RunView, write: Write, most_bytes: int) -> str:
    """Return as much of the view as ``write`` gets into ``most_bytes`` of UTF-8.

    The text is longer if even the shortest form does not fit: the caller has to cut it.
    """
    shown = _amounts(view)
    shown[ARTIFACTS] = min(shown[ARTIFACTS], MOST_ROWS)
    text = _write_shortened(view, shown, write)
    for part, least in STEPS:
        if _size(text) <= most_bytes:
            return text
        if shown[part] <= least:
            continue
        most, shown = shown[part], {**shown, part: least}
        text = _write_shortened(view, shown, write)
        if _size(text) <= most_bytes:
            return _fullest(view, shown, part, most, text, write, most_bytes)
    return text


def count_no_omissions(view: RunView) -> dict[str, int]:
    """Return the number of omitted items by part for a view without omissions: 0 each."""
    return dict.fromkeys(_amounts(view), 0)


def cut_text(text: str, most_bytes: int, next_command: str) -> str:
    """Return ``text`` in at most ``most_bytes`` of UTF-8; a mark says where it was cut."""
    data = text.encode("utf-8", "replace")
    if len(data) <= most_bytes:
        return text
    room = most_bytes - len(_mark(len(data), next_command).encode())
    if room < most_bytes // 2:
        mark = _SHORT_MARK[: max(0, most_bytes)]
        return _start(data, most_bytes - len(mark)) + mark
    kept = _start(data, room)
    return kept + _mark(len(data) - len(kept.encode()), next_command)


def _mark(missing: int, next_command: str) -> str:
    return f"\n[cut: {missing} bytes are missing; all of it: {next_command}]\n"


def _start(data: bytes, most_bytes: int) -> str:
    return data[:most_bytes].decode("utf-8", "ignore")


def _fullest(
    view: RunView,
    shown: dict[str, int],
    part: str,
    most: int,
    text: str,
    write: Write,
    most_bytes: int,
) -> str:
    """Return the text with the most of ``part`` that fits; ``text`` is the one with the least."""
    low, high = shown[part] + 1, most - 1
    while low <= high:
        tried = (low + high) // 2
        longer = _write_shortened(view, {**shown, part: tried}, write)
        if _size(longer) <= most_bytes:
            text, low = longer, tried + 1
        else:
            high = tried - 1
    return text


def _write_shortened(view: RunView, shown: Mapping[str, int], write: Write) -> str:
    everything = _amounts(view)
    left_out = {part: everything[part] - shown[part] for part in everything}
    return write(_trim(view, shown), left_out)


def _amounts(view: RunView) -> dict[str, int]:
    return {
        LOG_LINES: len(view.log_tail),
        ARTIFACTS: len(view.artifacts),
        EXCERPTS: sum(one.excerpt is not None for one in view.shows),
        CLAIMS: len(view.shows),
    }


def _trim(view: RunView, shown: Mapping[str, int]) -> RunView:
    """Return the view with fewer items: the last lines of the log, the first of everything else."""
    claims, room = [], shown[EXCERPTS]
    for claim in view.shows[: shown[CLAIMS]]:
        room -= claim.excerpt is not None
        claims.append(claim if room >= 0 else replace(claim, excerpt=None))
    return replace(
        view,
        log_tail=view.log_tail[len(view.log_tail) - shown[LOG_LINES] :],
        artifacts=view.artifacts[: shown[ARTIFACTS]],
        shows=tuple(claims),
    )


def _size(text: str) -> int:
    return len(text.encode("utf-8", "replace"))
