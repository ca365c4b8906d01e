# /// case
# cause = "pickling"
# paper_class = "runtime_error"
# exit_code = 1
# why = "the missing main guard"
# ///
"""A process is spawned at the top level of the program, without a main guard."""

import multiprocessing as mp
import sys

import numpy as np

mp.set_start_method("spawn", force=True)


def produce(queue, n):
    for i in range(n):
        queue.put(np.full(3, i))
    queue.put(None)


queue = mp.Queue()
process = mp.Process(target=produce, args=(queue, 5))
process.start()
process.join(10)
if process.exitcode:
    sys.exit(f"the producer failed with exit code {process.exitcode}")
while (item := queue.get()) is not None:
    print("batch", item.sum())
