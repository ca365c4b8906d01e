# /// case
# cause = "idle_hang"
# exit_code = 1
# why = "nothing moves any more and the watchdog shows a thread that waits for a lock"
# ///
"""Two threads take two locks in different order; a watchdog of the program shows where they wait."""

import faulthandler
import os
import sys
import threading
import time

index_lock, model_lock = threading.Lock(), threading.Lock()
progress = {"step": 0, "when": time.monotonic()}


def refresher():
    while True:
        with index_lock:
            time.sleep(0.02)
            with model_lock:
                time.sleep(0.001)


def watchdog(limit_s):
    while True:
        time.sleep(0.5)
        quiet = time.monotonic() - progress["when"]
        if quiet > limit_s:
            print(f"watchdog: no step for {quiet:.1f} s, last step {progress['step']}", flush=True)
            faulthandler.dump_traceback(file=sys.stdout, all_threads=True)
            sys.stdout.flush()
            os._exit(1)


for target, arguments in ((watchdog, (4.0,)),):
    threading.Thread(target=target, args=arguments, daemon=True).start()
for step in range(1000):
    if step == 30:
        threading.Thread(target=refresher, daemon=True, name="refresher").start()
    with model_lock:
        time.sleep(0.02)
        with index_lock:
            progress.update(step=step, when=time.monotonic())
    if step % 10 == 0:
        print(f"step {step} loss {3 / (1 + step / 20):.3f}", flush=True)
