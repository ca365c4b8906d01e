"""Ways to hang that several programs share: each function hangs in the way that its name says."""

import ctypes
import multiprocessing
import os
import signal
import subprocess
import threading
import time

lock = threading.Lock()


def sleep() -> None:
    """Sleep."""
    time.sleep(1000)


def loop() -> None:
    """Compute without an end."""
    number = 0
    while True:
        number += 1


def stop_itself() -> None:
    """Stop by a signal."""
    os.kill(os.getpid(), signal.SIGSTOP)


def hold_the_gil() -> None:
    """Call native code that waits and keeps the interpreter's lock."""
    ctypes.PyDLL(None).sleep(1000)


def wait_for_a_child() -> None:
    """Wait for a process that does not end."""
    subprocess.run(["sleep", "1000"])


def take_the_lock() -> None:
    """Take the lock."""
    with lock:
        pass


def fork_with_a_held_lock() -> None:
    """Wait for a forked process that takes a lock which a thread held meanwhile."""
    is_held = threading.Event()

    def hold() -> None:
        with lock:
            is_held.set()
            time.sleep(1000)

    threading.Thread(target=hold, daemon=True).start()
    is_held.wait()
    child = multiprocessing.get_context("fork").Process(target=take_the_lock)
    child.start()
    child.join()


def work_slowly() -> None:
    """Work at changing places, without an end."""
    while True:
        sum(range(1_000_000))
        sorted(range(1_000_000))
        time.sleep(0.01)
