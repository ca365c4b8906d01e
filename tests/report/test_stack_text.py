"""Text of the stacks of a run."""

from __future__ import annotations

import re

from gpualert_common.report.stack_text import render_stacks
from gpualert_common.report.text_sanitizer import NoMasks, TextSanitizer
from gpualert_common.stacks.dump import Dump, ProcessStack, StackFrame, Thread, Wait, WaitKind
from gpualert_common.structs import replace
from tests.stacks.composed import collective, in_own_code, make_dump, own

_WORKER = ProcessStack(
    900,
    "pt_data_worker",
    103,
    (Thread(900, "pt_data_worker", Wait(WaitKind.SLEEP, "sleeps")),),
)
_EXPECTED = """\
9 processes on node7 in 3 places, TIME, taken in 0.0 s without pausing them (test)
Ranks 0-2, 4-7 wait in all_reduce at train (train.py:120) for rank 3, which sleeps at load (data.py:33)

rank 3: sleeps   <- the others wait for it
  process 103 on node7, GPU 3
  > load, data.py:33                              time.sleep(9)
  > train, train.py:100
  > main, train.py:90                             train()

ranks 0-2, 4-7: are in all_reduce
  process 100 on node7, GPU 0; process 101 on node7, GPU 1; process 102 on node7, GPU 2; process 104 on node7, GPU 4; and 3 more
    all_reduce, torch/distributed/distributed_c10d.py:3252
    _exception_logger.<locals>.wrapper, torch/distributed/c10d_logger.py:83
  > train, train.py:120                           dist.all_reduce(loss)
  > main, train.py:90                             train()

process 900 (pt_data_worker): sleeps
  started by rank 3"""  # noqa: E501 - as it is printed


def lines_of(dump: Dump, *, is_full: bool = False) -> list[str]:
    """Return the lines, with TIME for the time."""
    lines = render_stacks(dump, TextSanitizer(NoMasks()), cwd="/job", is_full=is_full)
    return [re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d [+-]\d{4}", "TIME", line) for line in lines]


def test_groups() -> None:
    """The rank that the others wait for comes first; ranks at one place are one group."""
    places = dict.fromkeys(range(8), collective()) | {3: in_own_code()}
    dump = make_dump(places, others=[_WORKER])
    assert lines_of(dump) == _EXPECTED.split("\n")


def test_full() -> None:
    """Without the option long stacks are cut, and other ranks counted; with it nothing is."""
    frames = tuple(own(f"f{number}", number) for number in range(30))
    dump = make_dump({rank: (frames, collective()[1]) for rank in range(8)})
    short, full = lines_of(dump), lines_of(dump, is_full=True)
    assert "    and 24 more frames" in short
    assert len([line for line in full if line.startswith("  > f")]) == 30
    assert "process 107" in full[3]


def test_problem() -> None:
    """Missing Python stacks are explained, with the remedy, and processes left out are counted."""
    dump = make_dump({0: ((), Wait(WaitKind.LOCK, "waits for a lock"))})
    lines = lines_of(replace(dump, problem="py-spy is not installed", remedy="x", left_out=7))
    assert lines[1:3] == [
        "7 more processes are left out",
        "no Python stacks: py-spy is not installed; remedy: x",
    ]


def test_hostile_names() -> None:
    """Names of functions and files cannot control a terminal."""
    frame = StackFrame("f\x1b[2J", "/job/\x1b]0;x\x07.py", 1, "print('\x1b[31m')", is_own=True)
    dump = make_dump({0: ((frame,), Wait(WaitKind.SLEEP, "sleeps"))})
    assert "\x1b" not in "".join(lines_of(dump))
    assert "\x07" not in "".join(lines_of(dump))
