"""Stacks of another user's processes: what is visible is used, and the rest explained."""

from __future__ import annotations

import json
import os

import pytest

from gpualert_common.codec import decode, encode
from gpualert_common.processes.sampled_tree import SampledTree
from gpualert_common.stacks import py_spy
from gpualert_common.stacks.collection import DumpOptions, take_dump
from gpualert_common.stacks.dump import Dump, WaitKind
from tests.stacks.conftest import StartHanging

NOBODY = 65534

pytestmark = pytest.mark.e2e


def take_as(uid: int, pid: int) -> tuple[Dump, tuple[str, str]]:
    """Return a dump taken by a process of that user, and the obstacle that it reports."""
    read_fd, write_fd = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.setgroups([])
            os.setresgid(uid, uid, uid)
            os.setresuid(uid, uid, uid)
            dump = take_dump(SampledTree(pid, "GPUALERT_MARK_none"), DumpOptions("test"))
            value = [encode(dump), py_spy.find_obstacle(0)]
            os.write(write_fd, json.dumps(value).encode())
        finally:
            os._exit(0)
    os.close(write_fd)
    with open(read_fd, "rb") as file:
        dump, obstacle = json.load(file)
    os.waitpid(child, 0)
    return decode(Dump, dump, "dump"), (obstacle[0], obstacle[1])


def test_other_user(start_hanging: StartHanging) -> None:
    """Another user's process shows its state only, and the dump says what would show more."""
    process = start_hanging("sleep")
    dump, (why, remedy) = take_as(NOBODY, process.pid)
    (one,) = dump.processes
    assert (one.pid, one.main.wait.kind) == (process.pid, WaitKind.UNKNOWN)
    assert dump.stacks == ()
    assert one.problem or dump.problem
    if not dump.problem:  # py-spy itself can be executed by that user
        assert why == one.problem == "the process belongs to user 0"
        assert "CAP_SYS_PTRACE" in remedy


def test_root() -> None:
    """Root may read the stacks of every process."""
    assert py_spy.find_obstacle(0) == ("", "")
    assert py_spy.find_obstacle(NOBODY) == ("", "")
