"""Waits of threads, by /proc: state, system call and its arguments, place in the kernel.

State and name are visible to everybody.  The place (``wchan``) and descriptors are visible to the
same user and root; the system call needs the right to trace the process.  With less, the wait is
described by what is left.
"""

from __future__ import annotations

import os
import struct
import time
from collections.abc import Iterable, Iterator

from gpualert_common.processes.procfs import read, read_name
from gpualert_common.stacks.descriptors import Descriptor, DescriptorReader
from gpualert_common.stacks.dump import Wait, WaitKind
from gpualert_common.stacks.file_arguments import (
    PATH_ARGUMENT,
    PLACES_OF_FUSE,
    describe_argument,
    describe_mapped_mount,
)
from gpualert_common.stacks.process_memory import read_memory
from gpualert_common.stacks.system_calls import RUNNING, SystemCall, read_system_call

_MOST_WATCHED = 64
"""Descriptors of one poll that are read."""
_MOST_SHOWN = 3
_MOST_LOOKS = 4
_BETWEEN_LOOKS_S = 0.003
_MOST_THREADS = 256
_FUTEX_WAIT, _FUTEX_PRIVATE = 0, 0x80
_POLL_ENTRY = struct.Struct("=ihh")

_PLACES = {
    WaitKind.LOCK: "futex_ do_semtimedop rt_mutex",
    WaitKind.SLEEP: "hrtimer_nanosleep do_nanosleep do_sigtimedwait sigtimedwait",
    WaitKind.CHILD: "do_wait kernel_wait4 kernel_waitid sigsuspend",
    WaitKind.PIPE: "pipe_ anon_pipe_ wait_for_partner",
    WaitKind.SOCKET: "wait_woken sk_wait_data sk_stream_wait inet_csk_accept inet_stream_connect"
    " unix_ skb_wait __skb_ tcp_",
    WaitKind.INPUT: "n_tty_read tty_read",
    WaitKind.EVENTS: "ep_poll do_epoll poll_schedule do_sys_poll do_poll do_select",
    WaitKind.FILE_LOCK: "locks_lock_inode_wait flock_lock fcntl_setlk posix_lock",
    WaitKind.FILE: "io_schedule folio_wait wait_on_page wait_on_buffer request_wait_answer fuse_"
    " rpc_wait nfs_ nfs4_ ll_ ldlm_ ceph_ cifs_ smb2_ wait_for_response v9fs_ p9_ blkdev_"
    " submit_bio blk_mq bt_get dm_ jbd2_ xfs_ ext4_ btrfs_ iomap_ sync_inodes wb_wait"
    " percpu_rwsem_wait rwsem_down",
    WaitKind.DEVICE: "nvidia os_acquire rm_ uvm_ ib_ mlx5_ kfd_ amdgpu",
}
"""Kinds of waits by the beginning of the kernel's function, where the system call is hidden."""

_OPENING_PIPE = "wait_for_partner"
"""Place of a process that opens a named pipe whose other end nobody has open."""
_READS = frozenset(
    ("read", "readv", "pread64", "preadv", "recvfrom", "recvmsg", "accept", "accept4", "getdents64")
)
_ON_DESCRIPTOR = _READS | frozenset(
    (
        "write", "writev", "pwrite64", "sendto", "sendmsg", "connect", "fsync", "fdatasync",
        "ftruncate", "fstat", "getdents", "syncfs", "flock", "fcntl", "ioctl",
    )
)  # fmt: skip
"""Calls whose first argument is the descriptor on which they wait."""
_VERBS = {
    WaitKind.SOCKET: "waits for",
    WaitKind.PIPE: "waits for",
    WaitKind.INPUT: "waits for input from",
    WaitKind.FILE: "waits for",
    WaitKind.FILE_LOCK: "waits for a lock on",
    WaitKind.DEVICE: "waits for",
    WaitKind.EVENTS: "waits for",
    WaitKind.CHILD: "waits for",
    WaitKind.SLEEP: "waits for",
}
_TEXTS = {
    WaitKind.RUNS: "computes",
    WaitKind.LOCK: "waits for a lock, or for another thread",
    WaitKind.SLEEP: "sleeps",
    WaitKind.CHILD: "waits for a child process",
    WaitKind.SOCKET: "waits for a socket",
    WaitKind.PIPE: "waits for a pipe",
    WaitKind.INPUT: "waits for input from a terminal",
    WaitKind.EVENTS: "waits for events",
    WaitKind.FILE_LOCK: "waits for a lock on a file",
    WaitKind.FILE: "waits for a file",
    WaitKind.DEVICE: "waits for a device",
    WaitKind.STOPPED: "is stopped by a signal",
    WaitKind.DEBUGGER: "is stopped by a debugger",
    WaitKind.EXITED: "has exited",
    WaitKind.UNKNOWN: "waits in the kernel",
}
_WAITED_FIRST = (WaitKind.SOCKET, WaitKind.PIPE, WaitKind.INPUT, WaitKind.CHILD, WaitKind.FILE)
"""Of several descriptors, the one that is named first: a wakeup of an event loop is the last."""


def read_wait(pid: int, tid: int, descriptors: DescriptorReader) -> Wait:
    """Return the wait of a thread of a process; EXITED where it is gone.

    A thread computes only if it does so each time: one that was just paused runs for a moment.  One
    that waits for the threads of a parallel loop, which run, computes, too.
    """
    for _look in range(_MOST_LOOKS):
        wait = _read_once(pid, tid, descriptors)
        if wait.kind is not WaitKind.RUNS:
            break
        time.sleep(_BETWEEN_LOOKS_S)
    return wait


def _read_once(pid: int, tid: int, descriptors: DescriptorReader) -> Wait:
    status = _read_status(pid, tid)
    state = status.get("State", "X")[:1]
    if state in "ZX":
        return Wait(WaitKind.EXITED, _TEXTS[WaitKind.EXITED])
    if state in "Tt":
        return _read_stop(state, status)
    if state == "R":
        return Wait(WaitKind.RUNS, _TEXTS[WaitKind.RUNS])
    place = read(f"/proc/{pid}/task/{tid}/wchan").decode("ascii", "replace")
    place = "" if place == "0" else place
    call = read_system_call(pid, tid)
    if call is RUNNING:  # it has just begun to
        return Wait(WaitKind.RUNS, _TEXTS[WaitKind.RUNS])
    if call is not None and _waits_for_threads(call) and (running := _count_running(pid)):
        noun = "another thread" if running == 1 else f"{running} other threads"
        return Wait(WaitKind.RUNS, f"{_TEXTS[WaitKind.RUNS]} in {noun}")
    kind, text, process = _explain(pid, call, place, descriptors)
    is_uninterruptible = state == "D"
    if is_uninterruptible and kind in (WaitKind.UNKNOWN, WaitKind.EVENTS, WaitKind.SLEEP):
        kind, text = WaitKind.UNKNOWN, _TEXTS[WaitKind.UNKNOWN]
    if is_uninterruptible:
        text += ", which no signal ends (state D)"
    if kind is WaitKind.UNKNOWN and place:
        text += f": {place}"
    return Wait(kind, text, process, is_uninterruptible, call.name if call else "", place)


def _waits_for_threads(call: SystemCall) -> bool:
    """Return whether a thread waits as OpenMP's do for each other.

    Locks of Python wait with another operation (FUTEX_WAIT_BITSET); a native mutex waits like
    OpenMP.
    """
    return call.name == "futex" and call.argument(1) & ~_FUTEX_PRIVATE == _FUTEX_WAIT


def _count_running(pid: int) -> int:
    """Return the number of threads of a process that run."""
    try:
        threads = os.listdir(f"/proc/{pid}/task")[:_MOST_THREADS]
    except OSError:
        return 0
    stats = (read(f"/proc/{pid}/task/{tid}/stat").rpartition(b")")[2] for tid in threads)
    return sum(stat.split()[:1] == [b"R"] for stat in stats)


def _read_status(pid: int, tid: int) -> dict[str, str]:
    lines = read(f"/proc/{pid}/task/{tid}/status").decode("utf-8", "replace").splitlines()
    pairs = (line.partition(":") for line in lines)
    return {name: value.strip() for name, _, value in pairs}


def _read_stop(state: str, status: dict[str, str]) -> Wait:
    tracer = status.get("TracerPid", "0")
    if state == "t" or tracer != "0":
        number = int(tracer) if tracer.isdigit() else 0
        name = f" (process {number}, {read_name(number) or 'hidden'})" if number else ""
        return Wait(WaitKind.DEBUGGER, _TEXTS[WaitKind.DEBUGGER] + name, number or None)
    return Wait(WaitKind.STOPPED, _TEXTS[WaitKind.STOPPED])


def _explain(
    pid: int, call: SystemCall | None, place: str, descriptors: DescriptorReader
) -> tuple[WaitKind, str, int | None]:
    """Return kind, text and process of a wait, by the system call or else by the place."""
    if call is not None:
        found = _explain_call(pid, call, place, descriptors)
        if found is not None:
            return found
    kinds = (kind for kind, names in _PLACES.items() if place.startswith(tuple(names.split())))
    kind = next(kinds, WaitKind.UNKNOWN)
    if place.startswith(PLACES_OF_FUSE):
        return kind, _TEXTS[kind] + describe_mapped_mount(pid, descriptors), None
    return kind, _TEXTS[kind], None


def _explain_call(
    pid: int, call: SystemCall, place: str, descriptors: DescriptorReader
) -> tuple[WaitKind, str, int | None] | None:
    name = call.name
    if name == "futex":
        return WaitKind.LOCK, _TEXTS[WaitKind.LOCK], None
    if name in ("nanosleep", "clock_nanosleep", "pause"):
        return WaitKind.SLEEP, _TEXTS[WaitKind.SLEEP], None
    if name in ("wait4", "waitid") or (name == "rt_sigsuspend" and _list_children(pid)):
        return _explain_child(pid, call)
    if name in PATH_ARGUMENT:
        shown = describe_argument(pid, call, descriptors)
        if place.startswith(_OPENING_PIPE):
            return WaitKind.PIPE, f"waits for another process to open {shown}, a pipe", None
        return WaitKind.FILE, f"waits for {shown or 'a file'} ({name})", None
    if name in ("sync", "msync"):
        return WaitKind.FILE, f"waits until its data is on disk ({name})", None
    if name in _ON_DESCRIPTOR:
        return _explain_descriptor(descriptors.describe(pid, call.argument(0)), name)
    if name in ("poll", "ppoll", "select", "pselect6", "epoll_wait", "epoll_pwait", "epoll_pwait2"):
        return _explain_events(pid, list(_list_watched(pid, call, descriptors)), descriptors)
    return None


def _explain_descriptor(
    found: Descriptor | None, call: str
) -> tuple[WaitKind, str, int | None] | None:
    if found is None:
        return None
    kind = found.kind
    if call in ("flock", "fcntl") and kind is WaitKind.FILE:
        kind = WaitKind.FILE_LOCK
    verb = _VERBS[kind]
    if kind in (WaitKind.SOCKET, WaitKind.PIPE):
        verb = "waits for data from" if call in _READS else "waits to write to"
        verb = {"connect": "waits for a connection over", "accept": "waits for a client at"}.get(
            call.rstrip("4"), verb
        )
    return kind, f"{verb} {found.text}", found.process


def _explain_child(pid: int, call: SystemCall) -> tuple[WaitKind, str, int | None]:
    """Explain a wait for a child; one that waits for any child names the only one there is.

    A shell waits for the signal of a child (``rt_sigsuspend``), and ``waitid`` may also wait for a
    group or a pidfd.
    """
    is_by_pid = call.name == "waitid" and call.argument(0) == os.P_PID
    number = call.argument(0) if call.name == "wait4" else call.argument(1) if is_by_pid else -1
    number = number if 0 < number < 1 << 31 else -1  # -1 is any child, and less is a group
    children = _list_children(pid)
    if number < 0 and len(children) == 1:
        number = children[0]
    if number < 0:
        return WaitKind.CHILD, f"waits for any of its {len(children)} children", None
    name = read_name(number)
    return WaitKind.CHILD, f"waits for its child {number}" + (f" ({name})" if name else ""), number


def _list_children(pid: int) -> list[int]:
    """Return the children of the process's main thread, which starts most of them."""
    return [int(word) for word in read(f"/proc/{pid}/task/{pid}/children").split()]


def _explain_events(
    pid: int, numbers: list[int], descriptors: DescriptorReader
) -> tuple[WaitKind, str, int | None]:
    found = [one for number in numbers if (one := descriptors.describe(pid, number)) is not None]
    if not found:  # a call that waits for no descriptor is a sleep
        return WaitKind.SLEEP, _TEXTS[WaitKind.SLEEP], None
    return _name_first(found)


def _name_first(found: list[Descriptor]) -> tuple[WaitKind, str, int | None]:
    """Return the wait for several descriptors, of which the most telling is named first."""

    def rank(one: Descriptor) -> int:
        return _WAITED_FIRST.index(one.kind) if one.kind in _WAITED_FIRST else len(_WAITED_FIRST)

    ordered = sorted(found, key=rank)
    kind = ordered[0].kind
    texts = list(dict.fromkeys(one.text for one in ordered if one.kind is kind))
    shown = ", or ".join(texts[:_MOST_SHOWN])
    more = len(texts) - _MOST_SHOWN
    shown += f", or {more} more" if more > 0 else ""
    processes = {one.process for one in ordered if one.kind is kind}
    process = processes.pop() if len(processes) == 1 else None
    return kind, f"{_VERBS[kind]} {shown}", process


def _list_watched(pid: int, call: SystemCall, descriptors: DescriptorReader) -> Iterator[int]:
    """Yield the descriptors of a poll, select or epoll, from the memory of the process."""
    if call.name.startswith("epoll"):
        yield from descriptors.list_watched(pid, call.argument(0))[:_MOST_WATCHED]
    elif call.name in ("poll", "ppoll"):
        count = min(call.argument(1), _MOST_WATCHED)
        data = read_memory(pid, call.argument(0), max(0, count) * _POLL_ENTRY.size)
        whole = data[: len(data) // _POLL_ENTRY.size * _POLL_ENTRY.size]
        yield from (number for number, *_events in _POLL_ENTRY.iter_unpack(whole) if number >= 0)
    else:
        highest = min(max(0, call.argument(0)), 1024)
        for argument in (1, 2):
            data = read_memory(pid, call.argument(argument), (highest + 7) // 8)
            yield from _list_bits(data, highest)


def _list_bits(data: bytes, highest: int) -> Iterable[int]:
    return (bit for bit in range(min(highest, 8 * len(data))) if data[bit // 8] >> bit % 8 & 1)
