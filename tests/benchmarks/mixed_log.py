"""A long log as a busy machine leaves it: real logs of the corpus, several processes at once.

It consists of sections.  In each, one to eight processes write in turn at random paces, with or
without a prefix for each: the logs of successful programs, stretches of trainers' progress lines,
and somewhere the log of one program that failed.  The last failure ends the log.  Only open origins
are used; the same seed gives the same bytes.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random

from corpus.entries import CORPUS, Split, log_path, read_entries
from corpus.evaluation import noise

MB = 1_000_000
SEED = 20261120
SECTION = MB
"""Bytes of a section, and so about the distance of two failures."""

PROGRESS_LINES, TRAININGS = 20_000, 16
PREFIXES = (b"", b"[rank%d]: ", b"[default%d]:", b"%d: ", b"(TrainWorker pid=3810%d) ")


def write_mixed_log(path: Path, size: int, seed: int = SEED) -> None:
    """Write about *size* bytes, at least one section."""
    random = Random(seed)
    good, failed = _read_logs()
    with path.open("wb") as log:
        while True:
            log.writelines(_section(random, good, failed))
            if log.tell() >= size:
                break
        log.write(random.choice(failed))


def _read_logs() -> tuple[list[bytes], list[bytes]]:
    """Return the logs of open origins: of successful and of failed programs."""
    good: list[bytes] = []
    failed: list[bytes] = []
    for entry in read_entries(CORPUS):
        if Split.DEV.contains(entry):
            logs = good if entry.cause == "none" else failed
            logs.append(log_path(CORPUS, entry).read_bytes().rstrip(b"\n") + b"\n")
    return good, failed


def _section(random: Random, good: list[bytes], failed: list[bytes]) -> Iterator[bytes]:
    """Yield the lines of one section, in the order in which its processes write them."""
    count = random.choice((1, 2, 4, 8))
    prefix = random.choice(PREFIXES)
    victim = random.randrange(count)
    pending = {}
    for rank in range(count):
        mine = [_stretch(random, good, SECTION // count)]
        if rank == victim:
            cut = mine[0].index(b"\n", random.randrange(len(mine[0]) // 2)) + 1
            mine = [mine[0][:cut], random.choice(failed), mine[0][cut:]]
        pending[rank] = b"".join(mine).splitlines(keepends=True)[::-1]
    while pending:
        rank = random.choice(list(pending))
        lines = pending[rank]
        for _ in range(random.choice((1, 1, 2, 3, 8, 30))):
            if not lines:
                del pending[rank]
                break
            yield (prefix % rank if b"%" in prefix else prefix) + lines.pop()


def _stretch(random: Random, good: list[bytes], size: int) -> bytes:
    """Return about *size* bytes of programs without a failure."""
    parts, length = [], 0
    while length < size:
        if random.random() < 0.5:
            part = random.choice(good)
        else:
            text = noise.write_progress(PROGRESS_LINES, random.randrange(TRAININGS))
            start = text.index(b"\n", random.randrange(len(text) - SECTION // 8)) + 1
            part = text[start : text.index(b"\n", start + random.randrange(SECTION // 16)) + 1]
        parts.append(part)
        length += len(part)
    return b"".join(parts)
