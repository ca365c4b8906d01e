"""What is left out of a message that is too long, in which order, and how that is said.

No message has more than 200 rows of a manifest.  Where that is too long, there give way, in this
order: the rows, down to thirty; the log's lines from the front, down to ten; more rows, down to
five; the excerpts of the evidence; its claims, down to the first; the rest of the log's lines, and
of the rows.  What is too long even then is cut, with a mark that says how much is missing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from gpualert_common.report.alert import Alert

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
"""What gives way, and down to how many."""
MOST_ROWS = 200
"""Of the manifest, in any message: nobody reads on, and the record has all."""
_SHORT_MARK = "[cut]"

Write = Callable[[Alert, Mapping[str, int]], str]
"""Writes an alert, given how much of what was left out of it."""


def fit(alert: Alert, write: Write, most_bytes: int) -> str:
    """As much of ``alert`` as ``write`` gets into ``most_bytes`` of UTF-8.

    Longer than that when even the least does not fit: whoever called has to cut.
    """
    shown = _amounts(alert)
    shown[ARTIFACTS] = min(shown[ARTIFACTS], MOST_ROWS)
    text = _written(alert, shown, write)
    for what, least in STEPS:
        if _size(text) <= most_bytes:
            return text
        if shown[what] <= least:
            continue
        most, shown = shown[what], {**shown, what: least}
        text = _written(alert, shown, write)
        if _size(text) <= most_bytes:
            return _fullest(alert, shown, what, most, text, write, most_bytes)
    return text


def whole(alert: Alert) -> dict[str, int]:
    """How much is left out of an alert that is shown whole."""
    return dict.fromkeys(_amounts(alert), 0)


def cut(text: str, most_bytes: int, next_command: str) -> str:
    """``text`` in at most ``most_bytes`` of UTF-8; where it was cut, a mark says so."""
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
    alert: Alert,
    shown: dict[str, int],
    what: str,
    most: int,
    text: str,
    write: Write,
    most_bytes: int,
) -> str:
    """The text with the most of ``what`` that fits; ``text`` is the one with the least."""
    low, high = shown[what] + 1, most - 1
    while low <= high:
        tried = (low + high) // 2
        longer = _written(alert, {**shown, what: tried}, write)
        if _size(longer) <= most_bytes:
            text, low = longer, tried + 1
        else:
            high = tried - 1
    return text


def _written(alert: Alert, shown: Mapping[str, int], write: Write) -> str:
    everything = _amounts(alert)
    left_out = {what: everything[what] - shown[what] for what in everything}
    return write(_trimmed(alert, shown), left_out)


def _amounts(alert: Alert) -> dict[str, int]:
    return {
        LOG_LINES: len(alert.log_tail),
        ARTIFACTS: len(alert.artifacts),
        EXCERPTS: sum(shown.excerpt is not None for shown in alert.shows),
        CLAIMS: len(alert.shows),
    }


def _trimmed(alert: Alert, shown: Mapping[str, int]) -> Alert:
    """The log keeps its last lines, everything else its first."""
    claims, room = [], shown[EXCERPTS]
    for claim in alert.shows[: shown[CLAIMS]]:
        room -= claim.excerpt is not None
        claims.append(claim if room >= 0 else replace(claim, excerpt=None))
    return replace(
        alert,
        log_tail=alert.log_tail[len(alert.log_tail) - shown[LOG_LINES] :],
        artifacts=alert.artifacts[: shown[ARTIFACTS]],
        shows=tuple(claims),
    )


def _size(text: str) -> int:
    return len(text.encode("utf-8", "replace"))
