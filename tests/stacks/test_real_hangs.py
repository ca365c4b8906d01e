"""Stacks of real programs that hang: the place, the wait and the reason of each."""

from __future__ import annotations

import re
import signal
from pathlib import Path

import pytest

from gpualert_common.processes.sampled_tree import SampledTree
from gpualert_common.stacks import py_spy
from gpualert_common.stacks.collection import DumpOptions, take_dump
from gpualert_common.stacks.dump import Dump, WaitKind
from gpualert_common.stacks.reasons import HangReason, explain_hang
from tests.stacks.conftest import StartHanging, take_until

_MODES = {
    "sleep": (HangReason.SLEEP, "sleep"),
    "take_a_lock_twice": (HangReason.LOCK, "take_a_lock_twice"),
    "deadlock": (HangReason.DEADLOCK, "take_two_locks"),
    "fork_with_a_held_lock": (HangReason.FORKED_LOCK, "take_the_lock"),
    "wait_for_a_child": (HangReason.SLEEP, "wait_for_a_child"),
    "wait_for_input": (HangReason.INPUT, "wait_for_input"),
    "wait_for_a_queue": (HangReason.QUEUE, "wait_for_a_queue"),
    "wait_for_a_dead_worker": (HangReason.DEAD_WORKER, "wait_for_a_dead_worker"),
    "wait_for_a_socket": (HangReason.NETWORK, "wait_for_a_socket"),
    "poll_a_socket": (HangReason.NETWORK, "poll_a_socket"),
    "hold_the_gil": (HangReason.GIL, "hold_the_gil"),
    "stop_itself": (HangReason.STOPPED, "stop_itself"),
}
"""Reason and function of each mode of the program."""


def reason_of(dump: Dump, earlier: Dump | None = None) -> HangReason | None:
    """Return the reason that a dump shows."""
    found = explain_hang(dump, earlier)
    return None if found is None else found.reason


@pytest.mark.parametrize("mode", _MODES)
def test_reason(start_hanging: StartHanging, mode: str) -> None:
    """The stacks name the reason of the hang, and the line of the program."""
    reason, function = _MODES[mode]
    process = start_hanging(mode)
    dump = take_until(process.pid, lambda dump: reason_of(dump) is reason)
    found = explain_hang(dump)
    assert found is not None
    assert re.search(r"hanging_(?:program|modes)\.py:", found.text)
    functions = {frame.function for stack in dump.stacks for frame in stack if frame.is_own}
    assert function in functions
    assert not any(one.paused_ms for one in dump.processes)


def test_file_lock(start_hanging: StartHanging, tmp_path: Path) -> None:
    """A wait for the lock of a file names the file and its file system."""
    process = start_hanging("wait_for_a_file_lock", str(tmp_path / "the.lock"))
    dump = take_until(process.pid, lambda dump: reason_of(dump) is HangReason.FILE_LOCK)
    assert f"{tmp_path}/the.lock (" in dump.processes[0].main.wait.text


def test_loop(start_hanging: StartHanging) -> None:
    """Two dumps tell an endless loop, which uses a core all the time at one place."""
    process = start_hanging("loop")
    first = take_until(process.pid, lambda dump: reason_of(dump) is HangReason.COMPUTATION)
    dump = take_until(
        process.pid,
        lambda dump: reason_of(dump, first) is HangReason.LOOP and dump.at > first.at + 0.5,
        is_pausing=True,
    )
    found = explain_hang(dump, first)
    assert found is not None
    assert not found.is_moving
    assert found.place.startswith("loop (hanging_modes.py:")
    assert dump.processes[0].paused_ms > 0


def test_threads_of_a_parallel_loop(start_hanging: StartHanging) -> None:
    """A thread that waits as OpenMP's do, for one that runs, computes."""
    process = start_hanging("wait_like_openmp")
    words = "computes in another thread"
    dump = take_until(process.pid, lambda dump: dump.processes[0].main.wait.text == words)
    assert dump.processes[0].main.wait.kind is WaitKind.RUNS


def test_lock_of_a_working_thread(start_hanging: StartHanging) -> None:
    """A thread that waits for a lock of Python does not compute, whatever the others do."""
    process = start_hanging("wait_for_a_working_thread")
    dump = take_until(process.pid, lambda dump: reason_of(dump) is HangReason.LOCK)
    assert dump.processes[0].main.wait.kind is WaitKind.LOCK


def test_code_of_a_line(start_hanging: StartHanging) -> None:
    """Frames of the user's own code have the text of their line."""
    process = start_hanging("sleep")
    dump = take_until(process.pid, lambda dump: reason_of(dump) is HangReason.SLEEP)
    frames = dump.frames(dump.processes[0].main)
    assert [frame.function for frame in frames] == ["sleep", "<module>"]
    assert frames[0].code == "time.sleep(1000)"


def test_peers_of_a_socket(start_hanging: StartHanging) -> None:
    """A wait for a socket names the address of its peer."""
    process = start_hanging("wait_for_a_socket")
    dump = take_until(process.pid, lambda dump: reason_of(dump) is HangReason.NETWORK)
    assert "a socket to 127.0.0.1:" in dump.processes[0].main.wait.text


def test_child_of_a_wait(start_hanging: StartHanging) -> None:
    """A wait for a child goes on to what the child waits for."""
    process = start_hanging("wait_for_a_child")
    dump = take_until(process.pid, lambda dump: len(dump.processes) == 2)
    found = explain_hang(take_until(process.pid, lambda dump: reason_of(dump) is HangReason.SLEEP))
    child = next(one for one in dump.processes if one.pid != process.pid)
    assert found is not None
    assert found.text.endswith(f" for process {child.pid} (sleep), which sleeps")


def test_wait_for_a_pidfd(start_hanging: StartHanging) -> None:
    """The number of a pidfd is not taken for that of a process."""
    process = start_hanging("wait_for_a_pidfd")
    dump = take_until(process.pid, lambda dump: dump.processes[0].main.wait.call == "waitid")
    assert dump.processes[0].main.wait.text == "waits for any of its 2 children"
    assert dump.processes[0].main.wait.process is None


def test_deep_stack(start_hanging: StartHanging) -> None:
    """A deep recursion keeps its innermost and outermost frames."""
    process = start_hanging("recurse")
    dump = take_until(process.pid, lambda dump: reason_of(dump) is HangReason.SLEEP)
    frames = dump.frames(dump.processes[0].main)
    assert len(frames) < 60
    assert frames[0].code == "time.sleep(1000)"
    assert frames[-1].function == "<module>"


def test_native_frames(start_hanging: StartHanging) -> None:
    """Native frames stand inside of the Python frame that called them."""
    process = start_hanging("hold_the_gil")
    dump = take_until(process.pid, lambda dump: reason_of(dump) is HangReason.GIL, with_native=True)
    names = [frame.function for frame in dump.frames(dump.processes[0].main)]
    assert any("nanosleep" in name for name in names[: names.index("hold_the_gil")])


def test_without_py_spy(start_hanging: StartHanging, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without py-spy the waits are known, and the dump says what is missing."""
    monkeypatch.setattr(py_spy, "PROGRAM", "py-spy-that-does-not-exist")
    process = start_hanging("wait_for_a_child")
    dump = take_until(process.pid, lambda dump: reason_of(dump) is HangReason.SLEEP)
    assert dump.processes[0].main.wait.kind is WaitKind.CHILD
    assert dump.stacks == ()
    assert dump.problem == "py-spy is not installed"
    assert "gpualert-common[stacks]" in dump.remedy


def test_most_processes(start_hanging: StartHanging) -> None:
    """Beyond the limit processes are left out, and counted."""
    process = start_hanging("wait_for_a_child")
    take_until(process.pid, lambda dump: len(dump.processes) == 2)
    dump = take_dump(
        SampledTree(process.pid, "GPUALERT_MARK_none"), DumpOptions("test", most_processes=1)
    )
    assert [one.pid for one in dump.processes] == [process.pid]
    assert dump.left_out == 1


def test_ended_program(start_hanging: StartHanging) -> None:
    """A program that has exited and was not reaped is named so."""
    process = start_hanging("sleep")
    process.send_signal(signal.SIGKILL)
    dump = take_until(process.pid, lambda dump: dump.processes[0].main.wait.kind is WaitKind.EXITED)
    assert explain_hang(dump) is None
