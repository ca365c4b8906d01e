"""Lines of several ranks in one log, and the prefixes that launchers write."""

from __future__ import annotations

import re

import pytest

from gpualert_common.progress import Start, determine_start
from tests.progress.reading import folders, read, saved_steps, summarize

LOGS = {
    f"{folder.name}/{file.name}": file
    for folder in folders("captured")
    for file in sorted(folder.glob("*.log"))
}


@pytest.mark.parametrize(
    ("prefix", "ends"),
    [
        (b"[rank0]: ", b"\n\r"),
        (b"2026-01-02T03:04:05.678901234Z ", b"\n"),
        (b"(Worker pid=123) ", b"\n"),
        (b"0: ", b"\n"),
    ],
)
@pytest.mark.parametrize("name", LOGS)
def test_prefixes_change_nothing(name: str, prefix: bytes, ends: bytes) -> None:
    """A prefix of a launcher before every line, or every update of a bar, changes nothing."""
    begins = re.compile(rb"(?:\A|[" + ends + rb"]+)(?=[^" + ends + rb"])")
    log = LOGS[name].read_bytes()
    prefixed = begins.sub(lambda found: found[0] + prefix, log)
    assert summarize(read(prefixed)) == summarize(read(log))


def test_bars_belong_to_the_rank_of_their_line() -> None:
    """A launcher that splits at newlines only puts its prefix before the first of many bars."""
    bars = "".join(
        f"\r {i}%|#  | {i}/99 [00:{i}<00:50, 1.0it/s, loss=0.{i}]" for i in range(10, 20)
    )
    progress = read(f"0: begin\n0: {bars}\n0: end\n1: {bars}\n".encode())
    assert progress.counts.streams == 2
    assert [point.step for point in progress.points] == list(range(10, 20))


def test_ranks_in_one_line() -> None:
    """Output of two ranks in one line is separated by their prefixes."""
    lines = [f"[rank0]: step {s} loss 1.5[rank1]: step {s} loss 2.5\n\n" for s in (10, 20, 30)]
    progress = read("".join(lines).encode())
    assert [point.loss for point in progress.points] == [1.5] * 3
    assert progress.counts.streams == 2


def test_a_rank_whose_first_line_is_lost() -> None:
    """If the first line of one rank is damaged, the start is that of the other rank."""
    lines = [f"[rank{r}]: step {s} loss {r}.5\n" for s in range(10, 90, 10) for r in (0, 1)]
    lines[0] = "[rank0]: st"
    progress = read("".join(lines).encode())
    assert progress.counts.first_step == 10
    assert determine_start(progress).start is Start.FRESH


def test_one_stream_is_followed() -> None:
    """Of ranks with prefixes the one with most steps is followed, and all are counted."""
    lines = [f"[rank{r}]: step {s} loss {r + 1}.5\n" for s in range(1, 9) for r in (0, 1, 2)]
    progress = read("".join(lines).encode())
    assert {point.loss for point in progress.points} == {1.5}
    assert progress.counts.streams == 3


def test_events_of_ranks_count_once() -> None:
    """A checkpoint or a start that each rank reports counts once."""
    lines = [f"[rank{r}]: resuming from checkpoint out/step-4.pt\n" for r in range(3)]
    for step in range(5, 9):
        lines += [f"[rank{r}]: step {step} loss 0.5\n" for r in range(3)]
    lines += [f"[rank{r}]: saved checkpoint to out/step-8.pt\n" for r in range(3)]
    progress = read("".join(lines).encode())
    assert len(progress.markers) == 1
    assert saved_steps(progress) == [8]
