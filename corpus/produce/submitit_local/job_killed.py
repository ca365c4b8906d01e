# /// case
# cause = "killed_unknown"
# paper_class = "traceback"
# exit_code = 1
# why = "the job leaves no result and its log ends in the middle: killed, and nothing says by whom"
# ///
"""A submitit job is killed by SIGKILL; the parent finds no result and shows the job's log."""

import os
import signal
import time

import submitit
from submitit.core.utils import UncompletedJobError


def train(steps):
    for step in range(steps):
        time.sleep(0.05)
        print(f"step {step} loss {1 / (1 + step):.3f}", flush=True)
        if step == 17:
            os.kill(os.getpid(), signal.SIGKILL)
    return step


if __name__ == "__main__":
    executor = submitit.LocalExecutor(folder="logs")
    executor.update_parameters(timeout_min=1)
    job = executor.submit(train, 50)
    process_code = job._process.wait()
    print(f"process of the job ended with {process_code}", flush=True)
    try:
        job.result()
    except UncompletedJobError as error:
        print(job.stdout())
        raise SystemExit(f"submitit: {error}") from None
