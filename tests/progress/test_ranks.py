"""Lines of several ranks in one log, and what launchers write in front of them."""

from __future__ import annotations

import re

import pytest

from gpualert_common.progress import Start, determine_start
from tests.progress.reading import folders, read, saved_steps, told

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
    """A launcher's prefix before every line, or every drawing of a bar too, changes nothing."""
    begins = re.compile(rb"(?:\A|[" + ends + rb"]+)(?=[^" + ends + rb"])")
    log = LOGS[name].read_bytes()
    prefixed = begins.sub(lambda found: found[0] + prefix, log)
    assert told(read(prefixed)) == told(read(log))


def test_bars_belong_to_the_rank_of_their_line() -> None:
    """A launcher that looks for newlines alone puts its prefix before the first of many bars."""
    bars = "".join(
        f"\r {i}%|#  | {i}/99 [00:{i}<00:50, 1.0it/s, loss=0.{i}]" for i in range(10, 20)
    )
    progress = read(f"0: begin\n0: {bars}\n0: end\n1: {bars}\n".encode())
    assert progress.counts.streams == 2
    assert [point.step for point in progress.points] == list(range(10, 20))


def test_ranks_in_one_line() -> None:
    """What two ranks wrote into one line is told apart, by their prefixes."""
    lines = [f"[rank0]: step {s} loss 1.5[rank1]: step {s} loss 2.5\n\n" for s in (10, 20, 30)]
    progress = read("".join(lines).encode())
    assert [point.loss for point in progress.points] == [1.5] * 3
    assert progress.counts.streams == 2


def test_a_rank_whose_first_line_is_lost() -> None:
    """Where one rank's first line is damaged, the beginning is that of the other one."""
    lines = [f"[rank{r}]: step {s} loss {r}.5\n" for s in range(10, 90, 10) for r in (0, 1)]
    lines[0] = "[rank0]: st"
    progress = read("".join(lines).encode())
    assert progress.counts.first_step == 10
    assert determine_start(progress).start is Start.FRESH


def test_one_stream_is_followed() -> None:
    """Of ranks with prefixes the one that tells most is followed, and all are counted."""
    lines = [f"[rank{r}]: step {s} loss {r + 1}.5\n" for s in range(1, 9) for r in (0, 1, 2)]
    progress = read("".join(lines).encode())
    assert {point.loss for point in progress.points} == {1.5}
    assert progress.counts.streams == 3


def test_events_of_ranks_are_told_once() -> None:
    """What each rank says of a checkpoint or of the beginning counts once."""
    lines = [f"[rank{r}]: resuming from checkpoint out/step-4.pt\n" for r in range(3)]
    for step in range(5, 9):
        lines += [f"[rank{r}]: step {step} loss 0.5\n" for r in range(3)]
    lines += [f"[rank{r}]: saved checkpoint to out/step-8.pt\n" for r in range(3)]
    progress = read("".join(lines).encode())
    assert len(progress.markers) == 1
    assert saved_steps(progress) == [8]
