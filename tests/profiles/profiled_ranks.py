"""Program with known shares of time: ranks 0 to N-1, of which one loads slowly.

Its arguments are the number of ranks and the slow one.  Each rank has a worker.  Started without a
number of ranks it is a program without ranks.
"""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import threading
import time

STEP_S = 0.02


def compute(seconds: float) -> None:
    """Use the processor for so long."""
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        sum(range(200))


def load_batch(seconds: float) -> None:
    """Read from a storage for so long."""
    read_from_storage(seconds)


def read_from_storage(seconds: float) -> None:
    """Wait for so long."""
    time.sleep(seconds)


def forward(seconds: float) -> None:
    """Wait for so long, as for a GPU: that takes no longer on a busy machine."""
    time.sleep(seconds)


def train(*, is_slow: bool) -> None:
    """Take steps forever; a fast rank waits for the others."""
    while True:
        load_batch((0.7 if is_slow else 0.1) * STEP_S)
        forward(0.3 * STEP_S)
        if not is_slow:
            wait_for_others(0.6 * STEP_S)


def wait_for_others(seconds: float) -> None:
    """Wait for so long."""
    time.sleep(seconds)


def prepare_batches() -> None:
    """Work of a worker."""
    while True:
        time.sleep(STEP_S)


def work_alone() -> None:
    """Compute: six tenths of the time in one function, three in another, one in a third."""

    def most() -> None:
        compute(0.6 * STEP_S)

    def some() -> None:
        compute(0.3 * STEP_S)

    def little() -> None:
        compute(0.1 * STEP_S)

    threading.Thread(target=threading.Event().wait, name="waits", daemon=True).start()
    print("ready", flush=True)
    while True:
        most()
        some()
        little()


def start_ranks(count: int, slow: int) -> None:
    """Start the ranks, and wait for them."""
    ranks = [
        subprocess.Popen(
            [sys.executable, __file__, str(count), str(slow)],
            env={
                **os.environ,
                "RANK": str(rank),
                "WORLD_SIZE": str(count),
                "LOCAL_RANK": str(rank),
            },
        )
        for rank in range(count)
    ]
    for one in ranks:
        one.wait()


def main() -> None:
    """Run as the arguments and the rank say."""
    if len(sys.argv) == 1:
        work_alone()
    elif "RANK" not in os.environ:
        start_ranks(int(sys.argv[1]), int(sys.argv[2]))
    else:
        multiprocessing.Process(target=prepare_batches, daemon=True).start()
        print("ready", flush=True)
        train(is_slow=os.environ["RANK"] == sys.argv[2])


if __name__ == "__main__":
    main()
