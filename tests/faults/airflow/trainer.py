"""A training for the fault matrix: ``trainer.py HOW SECONDS``; its last line names its attempt.

``plain`` dies of a TERM; ``quiet`` too, and prints nothing between its begin and its end, since
what prints into a pipe dies with the pipe's reader.  ``save`` takes a second to save on TERM and
leaves with 0.  ``deaf`` ignores TERM and is quiet, as a job that hangs is.

What it said also stands in a file below ``MATRIX_SAID``, so that a lost line can be missed.
"""

import os
import signal
import sys
import time
from pathlib import Path
from types import FrameType

attempt = os.environ["AIRFLOW_CTX_TRY_NUMBER"]


def say(text: str) -> None:
    """Print a line, and write down that it was said, whether or not anybody reads it."""
    try:
        print(text, flush=True)
    finally:
        if "MATRIX_SAID" in os.environ:
            name = f"{os.environ['MATRIX_TASK']}.{os.getpid()}"
            with (Path(os.environ["MATRIX_SAID"]) / name).open("a") as file:
                print(text, file=file)


def save(_number: int, _frame: FrameType | None) -> None:
    """Save on TERM, then leave as if all were well."""
    time.sleep(1.0)
    say("checkpoint saved")
    sys.exit(0)


how, seconds = sys.argv[1], float(sys.argv[2])
if how == "save":
    signal.signal(signal.SIGTERM, save)
if how == "deaf":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
say(f"training of try {attempt} begins")
end = time.monotonic() + seconds
step = 0
while time.monotonic() < end:
    time.sleep(0.25)
    step += 1
    if how not in ("deaf", "quiet"):
        say(f"try {attempt} step {step} loss {1 / step:.4f}")
say(f"trained by try {attempt}")
