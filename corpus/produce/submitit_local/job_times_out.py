# /// case
# cause = "time_limit"
# paper_class = "traceback"
# exit_code = 1
# why = "submitit's own wall-clock limit ends the job, which was making progress"
# ///
"""A submitit job passes its time limit of some seconds and is not checkpointable."""

import time

import submitit


def pretrain(epochs):
    for epoch in range(epochs):
        time.sleep(0.4)
        print(f"epoch {epoch} train_loss {3 / (1 + epoch):.3f}", flush=True)
    return epoch


if __name__ == "__main__":
    executor = submitit.LocalExecutor(folder="logs", max_num_timeout=0)
    executor.update_parameters(timeout_min=0.1, signal_delay_s=2)
    job = executor.submit(pretrain, 100)
    try:
        print("best epoch", job.result())
    finally:
        print("---- stdout of the job\n", job.stdout())
        print("---- stderr of the job\n", job.stderr())
