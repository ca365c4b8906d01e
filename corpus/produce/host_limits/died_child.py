# /// case
# cause = "killed_unknown"
# paper_class = "traceback"
# exit_code = 1
# why = "the child died by SIGKILL and nothing says why"
# ///
"""A child process is killed from outside and the driver only sees its signal."""

import subprocess
import sys
import threading
from pathlib import Path

STAGES = {
    "tokenize": "print('tokenize: 4096 documents', flush=True)\n",
    "train": """
import time

for step in range(1000):
    time.sleep(0.02)
    if step % 10 == 0:
        print(f"train: step {step} loss {2 / (step + 1):.4f}", flush=True)
""",
    "evaluate": "print('evaluate: accuracy 0.91', flush=True)\n",
}


def neighbour(process):
    """What somebody else on the machine does to the training."""
    if "train" in process.args[1]:
        threading.Timer(1.5, process.kill).start()


def run(stage):
    command = [sys.executable, f"stages/{stage}.py"]
    print(">>> stage", stage, flush=True)
    with subprocess.Popen(command) as process:
        neighbour(process)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)


Path("stages").mkdir()
for stage, text in STAGES.items():
    Path("stages", f"{stage}.py").write_text(text)
for stage in STAGES:
    run(stage)
print("pipeline finished")
