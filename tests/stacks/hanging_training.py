"""A training of several ranks in which rank 1 stops taking part, as the argument says.

Each rank prints a line when it has taken three steps together with the others.
"""

import ctypes
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time

import torch
import torch.distributed as dist

lock = threading.Lock()


class Samples:
    """Samples of which the later ones never arrive on rank 1."""

    def __len__(self) -> int:
        """Return the number of samples."""
        return 1000

    def __getitem__(self, index: int) -> torch.Tensor:
        """Return one sample."""
        if dist.get_rank() == 1 and index >= 8:
            read_from_storage()
        return torch.ones(1)


def read_from_storage() -> None:
    """Wait, as for storage that does not answer."""
    time.sleep(1000)


def take_the_lock() -> None:
    """Take the lock."""
    with lock:
        pass


def sleep() -> None:
    """Sleep."""
    time.sleep(1000)


def loop() -> None:
    """Compute without an end."""
    number = 0
    while True:
        number += 1


def hold_the_gil() -> None:
    """Wait in native code that keeps the interpreter's lock."""
    ctypes.PyDLL(None).sleep(1000)


def stop_itself() -> None:
    """Stop by a signal."""
    os.kill(os.getpid(), signal.SIGSTOP)


def fork_with_a_held_lock() -> None:
    """Wait for a forked process that needs a lock of a thread."""
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


def wait_for_a_child() -> None:
    """Wait for a process that does not end."""
    subprocess.run(["sleep", "1000"])


def other_operation() -> None:
    """Take part in another operation than the other ranks."""
    dist.broadcast(torch.ones(1), 0)


def evaluate() -> None:
    """Compute at changing places, as an evaluation does, until a file exists."""
    weights = torch.randn(256, 256)
    while not os.path.exists(sys.argv[2]):
        weights = (weights @ weights).softmax(-1)


def train_from_a_loader() -> None:
    """Train on samples of worker processes."""
    for sample in torch.utils.data.DataLoader(Samples(), batch_size=2, num_workers=2):
        dist.all_reduce(sample)


def train(mode: str) -> None:
    """Take steps until rank 1 does something else."""
    for step in range(1000):
        if step == 3:
            print("ready", dist.get_rank(), flush=True)
            if mode == "train_from_a_loader":
                train_from_a_loader()
            elif dist.get_rank() == 1:
                globals()[mode]()
        dist.all_reduce(torch.ones(1))


dist.init_process_group("gloo")
train(sys.argv[1])
