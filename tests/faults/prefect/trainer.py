"""A training for the fault matrix: ``trainer.py HOW SECONDS``; its last line names its process.

``plain`` dies of a TERM, ``save`` takes a second to save on TERM and leaves with 0, ``deaf``
ignores TERM and prints nothing before its end, as a job that hangs does.  Each has a process of its
own next to it, as a data loader would be.  It ends sooner once there is a file at the path that
``TRAINED_ENOUGH`` gives.
"""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import FrameType

sys.path.insert(0, str(Path(__file__).parents[3]))

from tests.control_groups import enter_group


def save(_number: int, _frame: FrameType | None) -> None:
    """Save on SIGTERM, then exit with 0."""
    time.sleep(1.0)
    print("checkpoint saved", flush=True)
    loader.kill()
    sys.exit(0)


if "MATRIX_TASK" in os.environ:
    enter_group(os.environ["MATRIX_TASK"])
how, seconds = sys.argv[1], float(sys.argv[2])
if how == "deaf":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # the loader inherits it
loader = subprocess.Popen(["sleep", str(seconds + 60)])
if how == "save":
    signal.signal(signal.SIGTERM, save)
end = time.monotonic() + seconds
step = 0
enough = os.environ.get("TRAINED_ENOUGH", "")
while time.monotonic() < end and not os.path.exists(enough):
    time.sleep(0.25)
    step += 1
    if how != "deaf":
        print(f"step {step} loss {1 / step:.4f}", flush=True)
loader.kill()
loader.wait()
print(f"trained by {os.getpid()}", flush=True)
