"""Tests of the reader: the same progress for any pieces of a log, in bounded memory and time."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpualert_common.classify.lines import LINE_CAP
from gpualert_common.progress import ProgressReader
from gpualert_common.progress.formats._interface import ParsedItem, ProgressLine, load_parsers
from gpualert_common.progress.reader import BLOCK_BYTES, DENSE_LINES, TAIL_BYTES, TAIL_LINES
from gpualert_common.progress.stream import Stream
from tests.progress.reading import folders, read

LOGS = [
    file for kind in ("captured", "composed") for one in folders(kind) for file in one.iterdir()
]
FRAGMENTS = st.sampled_from(
    [
        *(line for file in LOGS[::9] for line in file.read_bytes()[:3000].split(b"\n")[:12]),
        b"step 12 loss 0.3",
        b"step 11 loss nan",
        b"epoch 2 [ 5/10] loss 0.4",
        b" 12%|#  | 12/100 [00:01<00:09, 9.1it/s]",
        b"{'loss': 1.5, 'learning_rate': 1e-05, 'epoch': 0.5}",
        b"\x1b[32mstep\x1b[0m 5 \x1b[1mloss\x1b[0m 0.2",
        b"resuming training from checkpoint out/checkpoint-20",
        b"Epoch 2/4",
        b"20/20 - 1s - 35ms/step - loss: 2.7931 - val_loss: 0.2588\b\b\b\b",
        b"",
        b"x" * (LINE_CAP + 17),
        b"loss 1 " * (LINE_CAP // 5),
    ]
)
ENDS = st.sampled_from([b"\n", b"\r", b"\r\n", b"\n\n"])
PREFIXES = st.sampled_from([b"", b"", b"[rank0]: ", b"[rank1]: ", b"[default0]:", b"\x1b[33m"])
TEXTS = st.lists(st.tuples(PREFIXES, FRAGMENTS, ENDS), max_size=30).map(
    lambda lines: b"".join(map(b"".join, lines))
)


@settings(deadline=None, max_examples=60)
@given(TEXTS, st.lists(st.integers(0, 1 << 20), max_size=8))
def test_cuts_do_not_matter(log: bytes, cuts: list[int]) -> None:
    """A log gives the same progress in one piece and in any pieces."""
    assert repr(read(log, cuts)) == repr(read(log))


@settings(deadline=None, max_examples=20)
@given(TEXTS)
def test_byte_by_byte(log: bytes) -> None:
    """A log that arrives byte by byte gives the same progress."""
    log = log[:3000]
    assert repr(read(log, range(len(log)))) == repr(read(log))


@settings(deadline=None, max_examples=40)
@given(TEXTS, st.integers(0, 1 << 20))
def test_a_snapshot_in_between(log: bytes, cut: int) -> None:
    """A snapshot is the progress of the log so far, and taking it changes nothing."""
    begin = cut % (len(log) + 1)
    reader = ProgressReader("train.log")
    reader.feed(log[:begin], 0)
    assert repr(reader.snapshot()) == repr(read(log[:begin]))
    reader.feed(log[begin:], begin)
    assert repr(reader.finish()) == repr(read(log))


@settings(deadline=None, max_examples=200)
@given(st.binary(max_size=2000), st.lists(st.integers(0, 2000), max_size=4))
def test_no_bytes_make_it_fail(log: bytes, cuts: list[int]) -> None:
    """Any output of a program is read, to its last byte."""
    progress = read(log, cuts)
    assert progress.read_bytes + progress.unread_bytes == len(log)


@settings(deadline=None, max_examples=100)
@given(st.sampled_from(LOGS), st.data())
def test_damaged_logs_are_read(file: Path, data: st.DataObject) -> None:
    """A real log with changed, removed or inserted bytes is read without an error."""
    log = bytearray(file.read_bytes()[:4000])
    for _ in range(data.draw(st.integers(1, 20))):
        at = data.draw(st.integers(0, max(0, len(log) - 1)))
        log[at : at + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=4))
    read(bytes(log))


def test_a_gap_and_a_repetition() -> None:
    """Repeated bytes are not read twice, and missing bytes are counted."""
    reader = ProgressReader("train.log")
    reader.feed(b"step 1 loss 3\nstep 2 loss 2\n", 0)
    reader.feed(b"step 2 loss 2\nstep 3 loss 1\n", 14)
    reader.feed(b"step 9 loss 0.5\n", 142)
    progress = reader.finish()
    assert [point.step for point in progress.points] == [1, 2, 3, 9]
    assert progress.unread_bytes == 100


def test_a_format_that_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """A format that raises is named in a note, and the others read on."""

    def fail(_: object, line: ProgressLine) -> list[ParsedItem]:
        raise ZeroDivisionError(line.excerpt)

    monkeypatch.setattr(load_parsers()["transformers"], "read", fail)
    reader = ProgressReader("train.log")
    reader.feed(b"step 1 loss 3\n{'loss': 1.5, 'epoch': 0.5}\nstep 2 loss 2\n", 0)
    progress = reader.finish()
    assert [point.step for point in progress.points] == [1, 2]
    assert progress.notes == ("the format transformers failed at line 2: ZeroDivisionError",)


def flood(lines: int) -> bytes:
    """Return a log of that many steps."""
    return b"".join(b"step %d loss %.4f lr 3e-4\n" % (i, 9 / i + 1) for i in range(1, lines + 1))


def test_a_flood_is_sampled() -> None:
    """A flood of steps is sampled, its end is read whole, and the unread bytes are counted."""
    lines = 12 * DENSE_LINES
    log = flood(lines)
    progress = read(log)
    assert progress.unread_bytes > len(log) / 2
    assert progress.read_bytes + progress.unread_bytes == len(log)
    assert (progress.counts.first_step, progress.counts.last_step) == (1, lines)
    found = [point.step for point in progress.points]
    assert found == sorted(found, key=lambda step: step or 0)
    lines_of_tail = log[-TAIL_BYTES:].count(b"\n")
    assert progress.counts.points < DENSE_LINES + lines_of_tail + 20 * (len(log) // BLOCK_BYTES + 1)
    assert repr(read(log, range(0, len(log), 30_011))) == repr(progress)


@pytest.mark.parametrize("lines", range(DENSE_LINES - 500, 3 * DENSE_LINES, 777))
def test_the_begin_of_a_flood(lines: int) -> None:
    """A log that ends near the begin of its flood gives the same progress in any pieces."""
    log = flood(lines)
    whole = repr(read(log))
    for size in (997, 7919, BLOCK_BYTES, BLOCK_BYTES + 1):
        assert repr(read(log, range(0, len(log), size))) == whole


@pytest.mark.parametrize("lines", [DENSE_LINES // 2, 12 * DENSE_LINES])
def test_little_is_left_at_the_end(lines: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """At the end, when a verdict waits, few lines are parsed: none of a log that is no flood."""
    reader = ProgressReader("train.log")
    log = flood(lines)
    for offset in range(0, len(log), 4096):
        reader.feed(log[offset : offset + 4096], offset)
    parsed: list[ProgressLine] = []
    read_line = Stream.read

    def count(stream: Stream, line: ProgressLine) -> None:
        parsed.append(line)
        read_line(stream, line)

    monkeypatch.setattr(Stream, "read", count)
    assert reader.finish().counts.last_step == lines
    assert len(parsed) <= (0 if lines < DENSE_LINES else TAIL_LINES + 8)


def test_last_steps_of_a_flood_before_a_traceback() -> None:
    """The last steps of a flood are read, also if a long traceback follows them."""
    lines = 12 * DENSE_LINES + 400
    traceback = b'  File "train.py", line 3, in call\n    return layer(x)\n' * 60
    log = flood(lines) + b"Traceback (most recent call last):\n" + traceback + b"KeyError: 'x'\n"
    progress = read(log)
    assert progress.counts.last_step == lines
    assert [point.step for point in progress.points[-3:]] == [lines - 2, lines - 1, lines]
    assert repr(read(log, range(0, len(log), 4096))) == repr(progress)


def test_rare_lines_in_a_flood() -> None:
    """A checkpoint and a NaN in the middle of a flood are found, with their lines."""
    steps = flood(12 * DENSE_LINES).splitlines(keepends=True)
    at = 9 * DENSE_LINES
    steps[at] = b"step %d loss nan lr 3e-4\n" % (at + 1)
    steps.insert(at + 1, b"saved checkpoint to out/step-%d.pt\n" % (at + 1))
    progress = read(b"".join(steps))
    assert [point.line for point in progress.points if not point.is_finite] == [at + 1]
    assert [(one.line, one.step) for one in progress.checkpoints] == [(at + 2, at + 1)]


def test_rare_steps_among_noise() -> None:
    """Steps that are far apart among many other lines are all read."""
    noise = b"2026-01-02 03:04:05 DEBUG loader: shard 4711 read in 0.5 s\n" * 4000
    steps = [b"step %d loss 0.5\n" % i for i in range(1, 21)]
    progress = read(noise.join(steps))
    assert [point.step for point in progress.points] == list(range(1, 21))
    assert progress.unread_bytes == 0


def test_memory_stays_flat() -> None:
    """A line of 200 MB, and a flood of bars, leave next to nothing in memory."""
    piece = b" 12%|#  | 12/100 [00:01<00:09, 9.1it/s, loss=0.5]\r" * 20_000
    reader = ProgressReader("train.log")
    reader.feed(piece, 0)
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    for i in range(1, 100):
        reader.feed(b"loss " * 400_000, len(piece) + 2_000_000 * (i - 1))
    grown = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert grown < 4 << 20


@pytest.mark.parametrize("end", [b"\n", b"\r", b"\r\n"])
def test_line_numbers(end: bytes) -> None:
    """Lines are numbered by newlines, as editors do, and cited by their offsets."""
    log = end.join([b"step 1 loss 3", b"step 2 loss 2", b"step 3 loss 1", b""])
    progress = read(log)
    assert [point.offset for point in progress.points] == [
        log.index(b"step %d" % i) for i in (1, 2, 3)
    ]
    newlines = [log[: point.offset].count(b"\n") + 1 for point in progress.points]
    assert [point.line for point in progress.points] == newlines
