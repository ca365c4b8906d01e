"""A training for the fault matrix: ``trainer.py HOW SECONDS``; its last line names its attempt.

``plain`` dies of a TERM; ``quiet`` too, and prints nothing before its end, since what prints into a
pipe dies with the pipe's reader.  ``save`` takes a second to save on TERM and leaves with 0.
``deaf`` ignores TERM and is quiet, as a job that hangs is.
"""

import os
import signal
import sys
import time
from types import FrameType


def save(_number: int, _frame: FrameType | None) -> None:
    """Save on TERM, then leave as if all were well."""
    time.sleep(1.0)
    print("checkpoint saved", flush=True)
    sys.exit(0)


how, seconds = sys.argv[1], float(sys.argv[2])
if how == "save":
    signal.signal(signal.SIGTERM, save)
if how == "deaf":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
end = time.monotonic() + seconds
step = 0
while time.monotonic() < end:
    time.sleep(0.25)
    step += 1
    if how not in ("deaf", "quiet"):
        print(f"step {step} loss {1 / step:.4f}", flush=True)
print(f"trained by try {os.environ['AIRFLOW_CTX_TRY_NUMBER']}", flush=True)
