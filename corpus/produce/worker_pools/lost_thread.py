# /// case
# cause = "file_not_found"
# exit_code = 1
# why = "the reader thread dies first; queue.Empty in the main thread follows from it"
# ///
"""The reader thread dies because a shard is absent; the main thread only sees an empty queue."""

import queue
import threading

import numpy as np

for i in range(3):
    np.save(f"shard_{i}.npy", np.full((4, 2), i, dtype="f4"))


class Prefetcher(threading.Thread):
    def __init__(self, paths):
        super().__init__(name="prefetcher", daemon=True)
        self.paths = paths
        self.batches = queue.Queue(maxsize=2)

    def run(self):
        for path in self.paths:
            for row in np.load(path):
                self.batches.put(row)
        self.batches.put(None)


reader = Prefetcher([f"shard_{i}.npy" for i in range(5)])
reader.start()
step, w = 0, np.zeros(2)
while (row := reader.batches.get(timeout=3)) is not None:
    w += 0.1 * (row - w)
    step += 1
    print(f"step {step} w {w.round(3)}", flush=True)
