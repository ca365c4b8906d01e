"""Data of a dump: the processes of a run, their threads, and the waits of these."""

from __future__ import annotations

from enum import StrEnum

from gpualert_common.structs import Struct


class WaitKind(StrEnum):
    """Kinds of waits of a thread, as the kernel shows them."""

    RUNS = "runs"
    LOCK = "lock"
    SLEEP = "sleep"
    CHILD = "child"
    SOCKET = "socket"
    PIPE = "pipe"
    INPUT = "input"
    EVENTS = "events"
    FILE_LOCK = "file_lock"
    FILE = "file"
    DEVICE = "device"
    STOPPED = "stopped"
    DEBUGGER = "debugger"
    EXITED = "exited"
    UNKNOWN = "unknown"


class Wait(Struct, frozen=True):
    """Wait of one thread.

    ``text`` continues "it", as in "waits for its child 4711 (curl)".  ``process`` is the number of
    the process that it waits for: a child, or the other end of a pipe or socket on this machine.
    ``is_uninterruptible`` says that no signal ends it (state D).  ``call`` is the system call and
    ``place`` the function of the kernel; "" where these are hidden.
    """

    kind: WaitKind
    text: str
    process: int | None = None
    is_uninterruptible: bool = False
    call: str = ""
    place: str = ""


class StackFrame(Struct, frozen=True):
    """One frame of a stack.

    ``file`` is the path as the process knows it, ``code`` the text of the line where the file could
    be read, and ``is_own`` says that the file is neither of the standard library nor of an
    installed package.  A native frame has the name of its library as ``file``, and line 0.
    """

    function: str
    file: str
    line: int
    code: str = ""
    is_own: bool = False


class Thread(Struct, frozen=True):
    """One thread: ``stack`` is the index of its frames in :attr:`Dump.stacks`, None for none."""

    tid: int
    name: str
    wait: Wait
    stack: int | None = None
    holds_gil: bool = False


class ProcessStack(Struct, frozen=True):
    """One process of a run.

    ``label`` is its rank, such as "rank:3", or "" for a process that is none.  ``gpus`` are those
    that its environment makes visible, ``local_rank`` and ``local_world_size`` its rank among those
    of this machine and their number, as the launcher announced them.  ``threads`` begin
    with the main thread; further ones are those with a Python stack.  ``thread_count`` counts all.
    ``world_size`` is the number of all ranks.
    ``is_fork`` says that it was forked and runs no program of its own, ``has_jax`` that it has
    loaded JAX, whose compiled computations are no frames of Python.  ``problem`` is the reason
    why its Python frames are missing, "" also for a process without Python.  ``paused_ms`` is the
    upper bound of the time for which it was paused, 0 if it was not.
    """

    pid: int
    name: str
    parent: int
    threads: tuple[Thread, ...]
    label: str = ""
    command: str = ""
    gpus: str = ""
    local_rank: int | None = None
    local_world_size: int | None = None
    world_size: int | None = None
    thread_count: int = 1
    is_fork: bool = False
    has_jax: bool = False
    cpu_s: float = 0.0
    problem: str = ""
    paused_ms: int = 0

    @property
    def main(self) -> Thread:
        """The main thread."""
        return self.threads[0]


class Dump(Struct, frozen=True):
    """The stacks of a run at one time.

    ``at`` is in seconds since the epoch, ``reason`` says why it was taken.  ``stacks`` are the
    distinct stacks, innermost frame first.  ``left_out`` counts the processes beyond the limit,
    ``problem`` and ``remedy`` say why Python frames are missing in all processes.
    """

    at: float
    host: str
    reason: str
    took_ms: int
    processes: tuple[ProcessStack, ...]
    stacks: tuple[tuple[StackFrame, ...], ...] = ()
    left_out: int = 0
    problem: str = ""
    remedy: str = ""

    def is_sound(self, process: ProcessStack) -> bool:
        """Return whether a process has a main thread, and its threads have stacks of the dump."""
        indices = [one.stack for one in process.threads if one.stack is not None]
        return bool(process.threads) and all(0 <= one < len(self.stacks) for one in indices)

    def frames(self, thread: Thread) -> tuple[StackFrame, ...]:
        """Return the frames of a thread, the innermost first; empty where they are not known."""
        return () if thread.stack is None else self.stacks[thread.stack]
