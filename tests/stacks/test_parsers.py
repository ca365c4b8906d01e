"""Readers of /proc and of py-spy's output, on captured text."""

from __future__ import annotations

import contextlib
import json
import os
import socket

import pytest

from gpualert_common.processes.sockets import parse_sockets
from gpualert_common.stacks.py_spy import parse_threads
from gpualert_common.stacks.source_lines import is_own_file
from gpualert_common.stacks.system_calls import RUNNING, parse_system_call
from gpualert_common.stacks.unix_sockets import read_unix_peers

_SPAWN = "/usr/lib/python3.11/multiprocessing/spawn.py"
_TCP = (
    b"   1: 0100007F:73F5 0100007F:C1A2 01 00000000:00000000 00:00000000 00000000  1000        0 "
    b"19423 1 0000000000000000 20 4 30 10 -1"
)
_TCP_RETRANSMITTED = (
    b"   2: 0A00000A:D431 0B00000A:73F5 02 00000001:00000000 01:00000063 00000004     0        0 "
    b"19424 2 0000000000000000 800 0 0 1 7"
)
_LISTENING = (
    b"   0: 00000000:73F5 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 "
    b"19425 1 0000000000000000 100 0 0 10 0"
)
_MAPPED = (
    b"   0: 0000000000000000FFFF00000100007F:73F5 0000000000000000FFFF00000100007F:C1A2 01 "
    b"00000000:00000000 00:00000000 00000000  1000 0 19426 1 0000000000000000 20 4 30 10 -1"
)
_SIX = (
    b"   0: 00000000000000000000000001000000:73F5 00000000000000000000000000000000:0000 0A "
    b"00000000:00000000 00:00000000 00000000  1000 0 19427 1 0000000000000000 20 4 30 10 -1"
)


def test_sockets() -> None:
    """Addresses, states and repeated sending of the kernel's tables, by inode."""
    found = parse_sockets([_TCP, _TCP_RETRANSMITTED, _LISTENING, _MAPPED, _SIX, b"a broken line"])
    assert {inode: one.describe() for inode, one in found.items()} == {
        "19423": "to 127.0.0.1:49570 (connected)",
        "19424": "to 10.0.0.11:29685 (no answer to its connection request yet); "
        "its data was sent 5 times without an answer",
        "19425": "that listens on 0.0.0.0:29685",
        "19426": "to 127.0.0.1:49570 (connected)",
        "19427": "that listens on [::1]:29685",
    }


@pytest.mark.parametrize(
    ("machine", "text", "name", "first"),
    [
        ("x86_64", b"202 0x7f 0x189 0x0 0x0 0x0 0xffffffff 0x7ffc 0x7f89", "futex", 0x7F),
        ("aarch64", b"98 0x7f 0x189 0x0 0x0 0x0 0xffffffff 0x7ffc 0x7f89", "futex", 0x7F),
        ("x86_64", b"0 0x5 0x7f 0x4 0x0 0x0 0x0 0x7ffc 0x7f89", "read", 5),
        ("x86_64", b"9999 0x5 0x7f 0x4 0x0 0x0 0x0 0x7ffc 0x7f89", "9999", 5),
        ("riscv64", b"63 0x5 0x7f 0x4 0x0 0x0 0x0 0x7ffc 0x7f89", "63", 5),
    ],
)
def test_system_call(machine: str, text: bytes, name: str, first: int) -> None:
    """System calls have the names of the machine's table, else their number."""
    call = parse_system_call(text, machine)
    assert call is not None
    assert (call.name, call.argument(0)) == (name, first)
    assert call.argument(9) == -1


@pytest.mark.parametrize("text", [b"-1 0x7ffc 0x7f89\n", b"", b"0 0xZ"])
def test_no_system_call(text: bytes) -> None:
    """A thread in no system call, and one that may not be seen, is in no known call."""
    assert parse_system_call(text, "x86_64") is None


def test_running_thread() -> None:
    """A thread that runs is told from one that may not be seen."""
    assert parse_system_call(b"running\n", "x86_64") is RUNNING


def test_native_frames() -> None:
    """Native names lose their templates and parameters; frames without a symbol are left out."""
    frame = {"filename": "libtorch_cpu.so", "line": 0}
    output = [
        {
            "thread_name": "MainThread",
            "os_thread_id": 7,
            "owns_gil": True,
            "frames": [
                {**frame, "name": "0x7f462dca3f16"},
                {**frame, "name": "c10::impl::wrap<at::Tensor (int), std::pair<int, bool>>::call"},
                {**frame, "name": "torch::autograd::Engine::execute(std::vector<int> const&)"},
                {"name": "train.<locals>.<lambda>", "filename": "/job/train.py", "line": 3},
            ],
        }
    ]
    (thread,) = parse_threads(json.dumps(output).encode())
    assert [one.function for one in thread.frames] == [
        "c10::impl::wrap::call",
        "torch::autograd::Engine::execute",
        "train.<locals>.<lambda>",
    ]
    assert (thread.tid, thread.holds_gil) == (7, True)


@pytest.mark.parametrize("output", [b"", b"{}", b'[{"frames": [{}]}]', b"null", b"[1]"])
def test_other_output(output: bytes) -> None:
    """Output of another form is an error that the reader expects."""
    with pytest.raises((ValueError, KeyError, TypeError)):
        assert parse_threads(output) is None


@pytest.mark.parametrize(
    ("path", "is_own"),
    [
        ("/home/me/train.py", True),
        ("train.py", True),
        ("/opt/conda/envs/x/lib/python3.12/threading.py", False),
        ("/usr/lib/python3/dist-packages/numpy/linalg.py", False),
        ("/venv/lib/python3.11/site-packages/torch/_tensor.py", False),
        ("<frozen importlib._bootstrap>", False),
        ("<string>", False),
        ("<stdin>", True),
        ("/venv/lib/python3.11/site-packages/torch/lib/libtorch_cpu.so", False),
    ],
)
def test_own_file(path: str, is_own: bool) -> None:
    """Files of the standard library and of installed packages are not the user's own."""
    assert is_own_file(path) is is_own


@pytest.mark.parametrize(
    ("outer", "is_own"),
    [
        ([("<module>", "<string>")], True),
        (
            [("main", "/usr/lib/python3.11/multiprocessing/spawn.py"), ("<module>", "<string>")],
            False,
        ),
        ([("<module>", "/job/train.py")], False),
    ],
)
def test_inline_code(outer: list[tuple[str, str]], is_own: bool) -> None:
    """The code of `python -c` is the user's, that of a library's process and of exec() is not."""
    frames = [("load", "<string>"), *outer]
    threads = [
        {"frames": [{"name": name, "filename": file, "line": 1} for name, file in frames]},
        {"frames": [{"name": "run", "filename": "<string>", "line": 2}]},
    ]
    found = parse_threads(json.dumps(threads).encode())
    assert [thread.frames[0].is_own for thread in found] == [is_own, is_own]


def test_peers_of_unix_sockets() -> None:
    """The other end of a socket pair is known by its inode."""
    with contextlib.ExitStack() as stack:
        ends = [stack.enter_context(one) for one in socket.socketpair()]
        first, second = (str(os.fstat(one.fileno()).st_ino) for one in ends)
        peers = read_unix_peers()
    assert (peers[first], peers[second]) == (second, first)
