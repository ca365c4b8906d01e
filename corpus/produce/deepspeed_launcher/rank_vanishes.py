# /// case
# cause = "killed_unknown"
# paper_class = ""
# exit_code = 247
# command = "deepspeed --num_gpus 1 --master_port 29712 {program}"
# env = {DS_ACCELERATOR = "cpu"}
# why = "return code -9 of the subprocess, and nothing says who sent it"
# ///
"""The launched rank is killed from outside; the launcher prints its return code."""

import os
import signal
import time

if os.fork() == 0:
    time.sleep(1.5)
    os.kill(os.getppid(), signal.SIGKILL)
    os._exit(0)
for step in range(500):
    time.sleep(0.05)
    if step % 5 == 0:
        print(f"[Rank 0] step={step}, skipped=0, lr=[0.0001], mom=[(0.9, 0.999)]", flush=True)
