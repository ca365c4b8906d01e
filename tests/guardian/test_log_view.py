"""The view of a log is bounded and rate-limited, and every line is shown or counted."""

from __future__ import annotations

import os
import re
import time
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpualert_common.classifier import find_notable_lines
from gpualert_common.guardian import Attempt, RunHandle, log_view
from gpualert_common.guardian.log_view import LAST_LINES, MOST_LINE_BYTES, LogView
from gpualert_common.spec import RunSpec
from tests.supervised import Lab, python

LEFT_OUT = re.compile(
    r"\[gpualert: (?:([\d,]+) lines)?(?: and )?(?:([\d,]+) bytes)? left out here; "
)


@contextmanager
def viewing(path: Path) -> Iterator[LogView]:
    """Open a view of a new, empty log."""
    path.write_bytes(b"")
    found = LogView(os.open(path, os.O_RDONLY | os.O_CLOEXEC), str(path))
    yield found
    found.close()


def append(path: Path, data: bytes) -> None:
    """Append output of the training."""
    with open(path, "ab") as file:
        file.write(data)


def split_view(lines: list[str]) -> tuple[list[str], int, int]:
    """Return the lines of the log, and the counts of lines and bytes left out."""
    marks = [found for line in lines if (found := LEFT_OUT.match(line))]
    count, size = (
        sum(int((mark.group(group) or "0").replace(",", "")) for mark in marks) for group in (1, 2)
    )
    return [line for line in lines if not LEFT_OUT.match(line)], count, size


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """Path of a log."""
    return tmp_path / "output.log"


@settings(max_examples=60, deadline=None)
@given(
    bursts=st.lists(st.integers(0, 900), max_size=8),
    ends_whole=st.booleans(),
)
def test_every_line_is_shown_or_counted(
    tmp_path_factory: pytest.TempPathFactory, bursts: list[int], ends_whole: bool
) -> None:
    """Shown and omitted lines add up to all, in order, and the last lines are always shown."""
    log = tmp_path_factory.mktemp("view") / "output.log"
    written = 0
    lines: list[str] = []
    with viewing(log) as found:
        for burst in bursts:
            append(log, b"".join(b"line %d\n" % (written + n) for n in range(burst)))
            written += burst
            lines += found.take_lines()
        if not ends_whole:
            append(log, b"line %d" % written)
            written += 1
        lines += found.take_lines(last=True)
    shown, left_out, left_out_bytes = split_view(lines)
    numbers = [int(line.removeprefix("line ")) for line in shown]
    assert numbers == sorted(set(numbers))
    assert len(numbers) + left_out == written
    assert left_out_bytes == 0
    assert numbers[-LAST_LINES:] == list(range(written))[-LAST_LINES:]


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_cuts_do_not_matter(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    """The cuts between writes and reads do not change the shown lines."""
    log = tmp_path_factory.mktemp("view") / "output.log"
    whole = data.draw(st.binary(max_size=400))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=6)))
    lines: list[str] = []
    with viewing(log) as found:
        for begin, end in zip([0, *cuts], [*cuts, len(whole)], strict=True):
            append(log, whole[begin:end])
            lines += found.take_lines()
        lines += found.take_lines(last=True)
    with viewing(log) as found:
        append(log, whole)
        at_once = found.take_lines(last=True)
    assert split_view(lines) == split_view(at_once)
    assert len(split_view(lines)[0]) + split_view(lines)[1] == len(
        whole.split(b"\n")
    ) - whole.endswith(b"\n") - (not whole)


def test_lines_without_pause(log: Path) -> None:
    """A flood is cut to a readable rate, and each omission is marked at its place."""
    with viewing(log) as found:
        append(log, b"".join(b"%d\n" % n for n in range(10_000)))
        first = found.take_lines()
        assert first == [str(n) for n in range(log_view.BURST_LINES)]
        assert found.take_lines() == []
        last = found.take_lines(last=True)
    assert last[0].startswith("[gpualert: 9,750 lines left out here; the whole log is ")
    assert str(log) in last[0]
    assert last[1:] == [str(n) for n in range(9_950, 10_000)]


def test_notable_lines_are_shown(log: Path) -> None:
    """Notable lines of a flood are shown, each after the mark of the omission before it."""
    lines = [b"step %d loss 0.1" % n for n in range(30_000)]
    lines[9_000] = b"WARNING: loss scale reduced"
    lines[20_000] = b"RuntimeError: CUDA error: an illegal memory access was encountered"
    lines[20_001] = b"NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus."
    with viewing(log) as found:
        found._find_notable = lambda text: find_notable_lines(text, None)
        append(log, b"\n".join(lines) + b"\n")
        output = found.take_lines() + found.take_lines(last=True)
    shown, left_out, _bytes = split_view(output)
    assert len(shown) + left_out == len(lines)
    assert [lines.index(line.encode()) for line in shown] == [
        *range(log_view.BURST_LINES), 9_000, 20_000, 20_001, *range(29_950, 30_000)
    ]  # fmt: skip


def test_notable_lines_are_bounded(log: Path) -> None:
    """A program that warns in every step is cut like any other."""
    with viewing(log) as found:
        found._find_notable = lambda text: find_notable_lines(text, None)
        append(log, b"WARNING: again\n" * 20_000)
        lines = found.take_lines() + found.take_lines(last=True)
    shown, left_out, _bytes = split_view(lines)
    assert len(shown) + left_out == 20_000
    assert len(shown) == log_view.BURST_LINES + log_view.NOTABLE_BURST_LINES + LAST_LINES


def test_a_jump_is_counted(log: Path) -> None:
    """The unread part of a log that grew too fast is counted in bytes."""
    line = b"x" * 99 + b"\n"
    with viewing(log) as found:
        append(log, b"first\n")
        assert found.take_lines() == ["first"]
        append(log, line * 300_000)
        append(log, b"last\n")
        lines = found.take_lines() + found.take_lines(last=True)
    shown, left_out, left_out_bytes = split_view(lines)
    size = log.stat().st_size - len(b"first\n")
    accounted = left_out_bytes + left_out * 100 + sum(len(one) + 1 for one in shown)
    assert abs(accounted - size) < 200
    assert shown[-1] == "last"


def test_giant_line(log: Path) -> None:
    """A line of 300 MB is cut, with bounded memory and time."""
    with viewing(log) as found:
        append(log, b"before\n")
        assert found.take_lines() == ["before"]
        os.truncate(log, 300 << 20)
        tracemalloc.start()
        found.take_lines()
        append(log, b"\nafter\n")
        lines = found.take_lines(last=True)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert split_view(lines)[0][-1] == "after"
    assert split_view(lines)[2] > 260 << 20
    assert max(len(line) for line in lines) < 5 * MOST_LINE_BYTES
    assert peak < 32 << 20


def test_short_lines_take_little_memory(log: Path) -> None:
    """Half a million short lines in one read are never all in memory."""
    with viewing(log) as found:
        append(log, b"ab\n" * 500_000)
        tracemalloc.start()
        found.take_lines()
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        found.take_lines(last=True)
    assert peak < 16 << 20


def test_long_line_is_cut(log: Path) -> None:
    """A line longer than a screen is cut and marked; one that just fits is whole."""
    with viewing(log) as found:
        append(log, b"a" * MOST_LINE_BYTES + b"\n" + b"b" * (MOST_LINE_BYTES + 1) + b"\n")
        fits, cut = found.take_lines()
    assert fits == "a" * MOST_LINE_BYTES
    assert cut == "b" * MOST_LINE_BYTES + " [cut]"


def test_bytes_that_are_no_text(log: Path) -> None:
    """A line of any bytes is shown as a line."""
    with viewing(log) as found:
        append(log, b"\xff\xfe\nna\xc3\xafve\n\0\n\x1b[31mred\x1b[0m\n\xc3")
        lines = found.take_lines() + found.take_lines(last=True)
    assert lines == ["\\xff\\xfe", "na\u00efve", "\0", "\x1b[31mred\x1b[0m", "\\xc3"]


def test_windows_ends_of_lines(log: Path) -> None:
    """A carriage return before the end of a line is part of the end."""
    with viewing(log) as found:
        append(log, b"one\r\ntwo\r\n\r\n")
        assert found.take_lines() == ["one", "two", ""]


@pytest.mark.parametrize("redraw", [b"\rstep %d of 9000", b"step %d of 9000\r"])
def test_progress_bar(log: Path, redraw: bytes) -> None:
    """Of a line that redraws itself the last version is shown."""
    with viewing(log) as found:
        append(log, b"".join(redraw % n for n in range(9001)))
        assert found.take_lines() == []
        append(log, b"\ndone\n")
        assert found.take_lines(last=True) == ["step 9000 of 9000", "done"]


@pytest.mark.parametrize("redraws", [10, 10_000], ids=["calm", "busy"])
@pytest.mark.parametrize("redraw", [b"\rstep %d", b"step %d\r"])
def test_progress_bar_that_never_ends(
    log: Path, monkeypatch: pytest.MonkeyPatch, redraws: int, redraw: bytes
) -> None:
    """An endless fast bar is shown now and then."""
    monkeypatch.setattr(log_view, "PROGRESS_S", 0.0)
    with viewing(log) as found:
        for number in range(3):
            append(log, b"".join(redraw % (number * redraws + n) for n in range(redraws)))
            (shown,) = found.take_lines()
            assert re.fullmatch(rf"step {number}?\d+", shown)


def test_truncated(log: Path) -> None:
    """A truncated log is read from its new start."""
    with viewing(log) as found:
        append(log, b"one\ntwo\n")
        assert found.take_lines() == ["one", "two"]
        os.truncate(log, 0)
        append(log, b"new\n")
        assert found.take_lines(last=True) == ["new"]


def test_removed(log: Path) -> None:
    """A removed log is still read through its descriptor."""
    with viewing(log) as found:
        append(log, b"one\n")
        log.unlink()
        assert found.take_lines(last=True) == ["one"]


def test_rate_over_time(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a burst some lines a second are shown; after thousands of lines fewer."""
    clock = [1000.0]
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    shown = []
    with viewing(log) as found:
        for second in range(20_000):
            clock[0] += 1
            append(log, b"".join(b"%d.%d\n" % (second, n) for n in range(3)))
            shown.append(len(found.take_lines()))
            if second == 100:
                assert sum(shown) == 303
        total = sum(shown)
    fast = log_view.FAST_LINES
    slow = 20_000 * log_view.SLOW_RATE_LINES_S
    assert fast <= total <= fast + 2 * slow


SPEED = 10 << 20
FLOOD_S = 3
FLOOD = f"""
import os, time
line = (b"x" * 99 + b"\\n") * 1024
began, written = time.monotonic(), 0
while written < {SPEED * FLOOD_S}:
    written += os.write(1, line)
    time.sleep(max(0.0, written / {SPEED} - (time.monotonic() - began)))
os.write(1, b"end\\n")
"""


def test_follows_a_flood(lab: Lab) -> None:
    """A child that writes 10 MB/s is followed to its last line, and all its output is counted."""
    spec = RunSpec(python(FLOOD), cwd=str(lab.home), state_dir=str(lab.state))
    with RunHandle.launch(spec, Attempt(("flood",))) as handle:
        lines = [line for lines in handle.follow() for line in lines]
        result = handle.wait()
    assert result.exit_code == 0
    shown, left_out, left_out_bytes = split_view(lines)
    assert shown[-1] == "end"
    assert len(shown) < 1000
    accounted = sum(len(line) + 1 for line in shown) + 100 * left_out + left_out_bytes
    assert abs(accounted - os.path.getsize(result.log_path)) < 1000
