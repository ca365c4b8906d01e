"""Marks of progress: the same answer, however the tail of a log is searched."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from gpualert_common.classify.progress_marks import PROGRESS_MARK, ProgressMarks

NEAR_BYTES = 4096

LINES = st.lists(
    st.sampled_from(
        [b"step %d loss 0.5\n" % step for step in range(5)]
        + [b"epoch 1\r", b"\r 3/9 [00:01<00:02]", b"no mark here\n", b"x" * 5000 + b"\n", b"\n"]
    ),
    max_size=60,
)
OFFSET = 1000


def count_steps(tail: bytes, offset: int, until: int) -> int:
    """Return the number of different steps by a search of the whole tail."""
    lines: dict[int, list[re.Match[bytes]]] = {}
    for one in PROGRESS_MARK.finditer(tail):
        start = max(tail.rfind(end, 0, one.start()) for end in (b"\r", b"\n"))
        lines.setdefault(start, []).append(one)
    marks = [
        (OFFSET + line[0].start(), tuple(number for one in line for number in one.groups()))
        for line in lines.values()
    ]
    behind = [one for one in marks if one[0] >= offset]
    if not behind or behind[0][0] >= until:
        return 0
    before = [one for one in marks if one[0] < offset][-2:]
    bars = {step for at, step in before if at >= offset - NEAR_BYTES and any(step[2::4])}
    return len({step for _, step in behind} - bars)


@given(LINES, st.data())
def test_steps_behind_a_line(lines: list[bytes], data: st.DataObject) -> None:
    """The steps behind any line are counted, in any order of the questions."""
    tail = b"".join(lines)
    starts = [OFFSET + len(b"".join(lines[:number])) for number in range(len(lines) + 1)]
    places = st.sampled_from([0, *starts])
    marks = ProgressMarks(tail, OFFSET)
    for offset, until in data.draw(st.lists(st.tuples(places, places), max_size=6)):
        assert marks.count_steps(offset, until) == count_steps(tail, offset, until)
    assert marks == ProgressMarks(tail, OFFSET)
    assert marks != ProgressMarks(tail, OFFSET + 1)


def test_bars_that_are_drawn_again() -> None:
    """Bars that a failure stopped are no progress when drawn again, unlike another step."""
    bars = b"\rEpoch 2:  7%| 21/300 [00:01<00:02]\r 3/9 [00:01<00:02]\n"
    tail = bars + b"RuntimeError: no\n" + bars
    behind = OFFSET + len(bars)
    assert ProgressMarks(tail, OFFSET).count_steps(behind, OFFSET + len(tail)) == 0
    tail += b"\rEpoch 2:  7%| 22/300 [00:01<00:02]"
    assert ProgressMarks(tail, OFFSET).count_steps(behind, OFFSET + len(tail)) == 1
