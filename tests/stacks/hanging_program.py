"""A program that hangs in the way that its argument names, after it has printed a line."""

import ctypes
import multiprocessing
import os
import socket
import subprocess
import sys
import threading
import time

from tests.stacks import hanging_modes

FUTEX = {"x86_64": 202, "aarch64": 98}[os.uname().machine]
FUTEX_WAIT_PRIVATE = 0x80
lock, other_lock = hanging_modes.lock, threading.Lock()


def take_a_lock_twice() -> None:
    """Take a lock that it holds itself."""
    lock.acquire()
    lock.acquire()


def take_two_locks(
    first: threading.Lock,
    second: threading.Lock,
    is_ready: threading.Event,
    may_go: threading.Event,
) -> None:
    """Take two locks, the second once that is allowed."""
    with first:
        is_ready.set()
        may_go.wait()
        with second:
            pass


def deadlock() -> None:
    """Wait in two threads for each other's lock."""
    ready = threading.Event(), threading.Event()
    threading.Thread(target=take_two_locks, args=(lock, other_lock, *ready)).start()
    take_two_locks(other_lock, lock, ready[1], ready[0])


def wait_for_input() -> None:
    """Read standard input."""
    sys.stdin.readline()


def wait_for_a_queue() -> None:
    """Read a queue that nobody fills."""
    multiprocessing.get_context("fork").SimpleQueue().get()


def wait_for_a_dead_worker() -> None:
    """Read a queue whose worker has died."""
    worker = multiprocessing.get_context("fork").Process(target=os._exit, args=(1,))
    worker.start()
    os.waitid(os.P_PID, worker.pid or 0, os.WEXITED | os.WNOWAIT)
    multiprocessing.get_context("fork").SimpleQueue().get()


def wait_for_a_socket() -> None:
    """Read a socket whose peer is silent."""
    server = socket.create_server(("127.0.0.1", 0))
    client = socket.create_connection(server.getsockname())
    client.recv(1)


def poll_a_socket() -> None:
    """Read a socket with a time-out."""
    server = socket.create_server(("127.0.0.1", 0))
    client = socket.create_connection(server.getsockname())
    client.settimeout(1000)
    client.recv(1)


def wait_for_a_file_lock() -> None:
    """Take the lock of a file that is locked."""
    import fcntl

    path = sys.argv[2]
    with open(path, "w") as first, open(path, "w") as second:
        fcntl.flock(first, fcntl.LOCK_EX)
        fcntl.flock(second, fcntl.LOCK_EX)


def _count(held: threading.Lock) -> None:
    """Compute in another thread, which holds a lock."""
    is_held = threading.Event()

    def count() -> None:
        with held:
            is_held.set()
            hanging_modes.loop()

    threading.Thread(target=count, daemon=True).start()
    is_held.wait()


def wait_like_openmp() -> None:
    """Wait for a thread that computes, by the operation of OpenMP and of native mutexes."""
    _count(other_lock)
    word = ctypes.c_int(0)
    ctypes.CDLL(None).syscall(FUTEX, ctypes.byref(word), FUTEX_WAIT_PRIVATE, 0, None)


def wait_for_a_working_thread() -> None:
    """Wait for the lock of a thread that computes."""
    _count(lock)
    hanging_modes.take_the_lock()


def wait_for_a_pidfd() -> None:
    """Wait for a child by its pidfd, with another child beside it."""
    children = [subprocess.Popen(["sleep", "1000"]) for _child in range(2)]
    os.waitid(os.P_PIDFD, os.pidfd_open(children[0].pid), os.WEXITED)


def recurse(depth: int = 200) -> None:
    """Sleep in a deep recursion."""
    if depth:
        recurse(depth - 1)
    else:
        time.sleep(1000)


print("ready", flush=True)
(getattr(hanging_modes, sys.argv[1], None) or globals()[sys.argv[1]])()
