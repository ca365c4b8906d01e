# /// case
# cause = "shared_memory"
# paper_class = "runtime_error"
# exit_code = 1
# command = "unshare -m bash -c 'mount -t tmpfs -o size=2m tmpfs /dev/shm && python {program} --workers 3'"
# needs = ["root"]
# why = "the bus error comes from a block in /dev/shm that is larger than the mount, as the line at the start shows"
# ///
"""Workers write frames into a shared block that /dev/shm cannot hold; the writing one gets SIGBUS."""

import argparse
import faulthandler
import multiprocessing as mp
import shutil
import signal
from multiprocessing import connection, shared_memory

import numpy as np

FRAMES, SIDE = 90, 96


def simulate(worker, name, ready):
    faulthandler.enable()
    block = shared_memory.SharedMemory(name)
    frames = np.ndarray((3, FRAMES, SIDE, SIDE), np.uint32, block.buf)
    rng = np.random.default_rng(worker)
    for t in range(FRAMES):
        frames[worker, t] = rng.integers(0, 255, (SIDE, SIDE))
        if t % 30 == 0:
            print(f"[env {worker}] frame {t} written", flush=True)
    ready.put(worker)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--workers", type=int, default=1)
    asked = parser.parse_args()
    context = mp.get_context("fork")
    size = asked.workers * FRAMES * SIDE * SIDE * 4
    free = shutil.disk_usage("/dev/shm").free
    print(
        f"frame arena of {size / 2**20:.1f} MiB in /dev/shm ({free / 2**20:.1f} MiB free)",
        flush=True,
    )
    block = shared_memory.SharedMemory(create=True, size=size)
    ready = context.Queue()
    workers = [
        context.Process(target=simulate, args=(i, block.name, ready), name=f"env-{i}")
        for i in range(asked.workers)
    ]
    try:
        for worker in workers:
            worker.start()
        running = {worker.sentinel: worker for worker in workers}
        while running:
            for sentinel in connection.wait(list(running)):
                worker = running.pop(sentinel)
                worker.join()
                if worker.exitcode:
                    name = signal.Signals(-worker.exitcode).name
                    raise RuntimeError(f"{worker.name} died while filling {block.name}: {name}")
        print("rollout of all workers complete")
    finally:
        for worker in workers:
            worker.kill()
        block.close()
        block.unlink()


if __name__ == "__main__":
    main()
