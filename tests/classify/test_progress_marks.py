"""Marks of progress: the same answer, however the tail of a log is searched."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gpualert_common.classify.progress_marks import PROGRESS_MARK, ProgressMarks

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
    found = [(OFFSET + one.start(), one.groups()) for one in PROGRESS_MARK.finditer(tail)]
    behind = [one for one in found if one[0] >= offset]
    return len({step for _, step in behind}) if behind and behind[0][0] < until else 0


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
