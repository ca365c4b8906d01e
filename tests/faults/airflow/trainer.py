"""A training for the fault matrix: ``trainer.py HOW SECONDS``; its last line names its attempt.

``plain`` dies of SIGTERM; ``quiet`` too, and prints nothing between its start and its end, since a
process that prints into a pipe dies with the pipe's reader.  ``save`` saves for a second on SIGTERM
and exits with 0.  ``deaf`` ignores SIGTERM and prints nothing, like a job that hangs.

It also writes its lines to a file below ``MATRIX_OUTPUTS``, so that a test notices a lost line.
"""

import os
import signal
import sys
import time
from pathlib import Path
from types import FrameType

sys.path.insert(0, str(Path(__file__).parents[3]))

from tests.control_groups import enter_group

attempt = os.environ["AIRFLOW_CTX_TRY_NUMBER"]


def write_line(text: str) -> None:
    """Print a line, and record it in a file."""
    try:
        print(text, flush=True)
    finally:
        if "MATRIX_OUTPUTS" in os.environ:
            name = f"{os.environ['MATRIX_TASK']}.{os.getpid()}"
            with (Path(os.environ["MATRIX_OUTPUTS"]) / name).open("a") as file:
                print(text, file=file)


def save(_number: int, _frame: FrameType | None) -> None:
    """Save on SIGTERM, then exit with 0."""
    time.sleep(1.0)
    write_line("checkpoint saved")
    sys.exit(0)


if "MATRIX_TASK" in os.environ:
    enter_group(os.environ["MATRIX_TASK"])
how, seconds = sys.argv[1], float(sys.argv[2])
if how == "save":
    signal.signal(signal.SIGTERM, save)
if how == "deaf":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
write_line(f"training of try {attempt} begins")
end = time.monotonic() + seconds
step = 0
while time.monotonic() < end:
    time.sleep(0.25)
    step += 1
    if how not in ("deaf", "quiet"):
        write_line(f"try {attempt} step {step} loss {1 / step:.4f}")
write_line(f"trained by try {attempt}")
