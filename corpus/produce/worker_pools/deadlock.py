# /// case
# cause = "idle_hang"
# paper_class = ""
# exit_code = 1
# why = "the dump of all threads shows two locks that wait for each other; the limit only reveals it"
# ///
"""Two threads wait for each other's lock until faulthandler's watchdog ends the process."""

import faulthandler
import sys
import threading
import time

faulthandler.dump_traceback_later(4, exit=True)
metrics_lock, model_lock = threading.Lock(), threading.Lock()


def evaluate_forever():
    while True:
        with model_lock:
            time.sleep(0.05)
            with metrics_lock:
                pass


def train(steps):
    for step in range(steps):
        with metrics_lock:
            time.sleep(0.02 if step < 3 else 0.2)
            print(f"step {step} loss {1 / (step + 1):.3f}", file=sys.stderr)
            with model_lock:
                pass


threading.Thread(target=evaluate_forever, daemon=True, name="evaluator").start()
train(50)
