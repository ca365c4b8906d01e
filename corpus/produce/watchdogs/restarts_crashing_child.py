# /// case
# cause = "segfault"
# exit_code = 139
# why = "each restart of the supervisor meets the same native crash"
# ///
"""A supervisor restarts its child three times, and each time it dies of SIGSEGV."""

import logging
import signal
import subprocess
import sys
import time

CHILD = """
import ctypes, time
for step in range(6):
    print(f"  [child] step {step} reward {step * 0.3:.2f}", flush=True)
    time.sleep(0.05)
ctypes.string_at(8)
"""
logging.basicConfig(
    level=logging.INFO, format="%(levelname)s supervisor %(message)s", stream=sys.stdout
)

for attempt in range(1, 4):
    logging.info("starting trainer, attempt %d/3", attempt)
    code = subprocess.call([sys.executable, "-c", CHILD])
    if code == 0:
        break
    name = signal.Signals(-code).name if code < 0 else str(code)
    logging.warning("trainer exited with %s, backing off", name)
    time.sleep(0.3)
else:
    logging.error("giving up after 3 attempts")
    sys.exit(128 - code)
