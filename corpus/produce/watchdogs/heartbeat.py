# /// case
# cause = "idle_hang"
# paper_class = ""
# exit_code = -6
# why = "a watchdog of the program sees no step for four seconds and aborts; the dump shows a blocked lock"
# ///
"""A watchdog thread sees no progress, dumps all stacks and aborts."""

import faulthandler
import os
import sys
import threading
import time

last_step = time.monotonic()


def watchdog(limit_s):
    while True:
        time.sleep(0.5)
        idle = time.monotonic() - last_step
        if idle > limit_s:
            print(
                f"[watchdog] no step for {idle:.1f} s, dumping stacks", file=sys.stderr, flush=True
            )
            faulthandler.dump_traceback(all_threads=True)
            os.abort()


def flush_metrics(lock):
    lock.acquire()
    time.sleep(3600)


def train():
    global last_step
    lock = threading.Lock()
    for step in range(1000):
        if step == 30:
            threading.Thread(
                target=flush_metrics, args=(lock,), daemon=True, name="flusher"
            ).start()
            time.sleep(0.2)
        with lock:
            print(f"step {step} loss {2.3 / (1 + step / 20):.4f}", flush=True)
        time.sleep(0.05)
        last_step = time.monotonic()


threading.Thread(target=watchdog, args=(4.0,), daemon=True, name="watchdog").start()
train()
