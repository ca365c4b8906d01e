# /// case
# cause = "idle_hang"
# paper_class = ""
# exit_code = 75
# why = "the workers stand still in a lock that was held when they were forked; our own supervisor ends the run, no collective is involved"
# ///
"""Workers are forked while another thread holds a lock; they never produce a step, and the supervisor gives up."""

import multiprocessing as mp
import os
import queue
import sys
import threading
import time

STATISTICS = threading.Lock()


class Reporter(threading.Thread):
    """Writes the running statistics now and then."""

    def __init__(self):
        super().__init__(daemon=True)
        self.lines = 0

    def run(self):
        while True:
            with STATISTICS:
                self.lines += 1
                time.sleep(0.3)
            time.sleep(0.001)


def episode(worker, transitions):
    print(f"[worker {worker} pid {os.getpid()}] environment ready", flush=True)
    for t in range(1000):
        with STATISTICS:
            transitions.put((worker, t, 0.1))
        time.sleep(0.02)


def wait_channel(pid):
    with open(f"/proc/{pid}/stat") as file:
        state = file.read().rpartition(")")[2].split()[0]
    return {"S": "sleeping", "R": "running", "Z": "zombie"}.get(state, state)


def main():
    transitions = mp.Queue()
    print("collecting warm-up steps in the main process", flush=True)
    for t in range(5):
        transitions.put(("main", t, 0.0))
    Reporter().start()
    time.sleep(0.1)
    workers = [mp.Process(target=episode, args=(i, transitions), daemon=True) for i in range(3)]
    for worker in workers:
        worker.start()
    seen, last = 0, time.monotonic()
    while seen < 500:
        try:
            transitions.get(timeout=1)
            seen, last = seen + 1, time.monotonic()
        except queue.Empty:
            silent = time.monotonic() - last
            print(f"steps={seen} no new transition for {silent:.0f}s", flush=True)
            if silent > 6:
                states = {f"worker {i}": wait_channel(w.pid) for i, w in enumerate(workers)}
                print(
                    f"supervisor: no progress, all workers alive: {states}; giving up",
                    file=sys.stderr,
                )
                break
    else:
        return
    for worker in workers:
        worker.kill()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(75)


main()
