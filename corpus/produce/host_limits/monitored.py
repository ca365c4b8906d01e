# /// case
# cause = "none"
# exit_code = 0
# why = "the monitor warns of memory, descriptors and disk, and nothing happens"
# ///
"""A monitor warns of memory, disk and descriptors all the time; the training ends well."""

import logging
import resource
import threading
import time

import numpy as np

logging.basicConfig(
    level=logging.INFO, format="%(asctime)s %(levelname)s [%(threadName)s] %(message)s"
)
stop = threading.Event()


def monitor():
    while not stop.wait(0.15):
        used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        logging.warning(
            "memory 97%% of limit (%.0f MiB), OOM killer may strike; disk 99%% full; open files 1010/1024",
            used,
        )


thread = threading.Thread(target=monitor, name="monitor")
thread.start()
rng = np.random.default_rng(0)
w = np.zeros(10)
for step in range(1, 61):
    x = rng.normal(size=(100, 10))
    error = x @ (w - 1)
    w -= 0.1 * x.T @ error / len(x)
    time.sleep(0.02)
    if step % 10 == 0:
        logging.info("step %d/60 loss %.6f", step, np.mean(error**2))
stop.set()
thread.join()
logging.info("training finished; peak pressure reported by the monitor had no effect")
