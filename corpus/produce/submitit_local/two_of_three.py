# /// case
# cause = "none"
# exit_code = 0
# why = "the failed candidate of the array is resubmitted with a smaller step and all results are there"
# ///
"""One job of an array fails and is submitted again with other arguments; all results are there."""

import numpy as np
import submitit


def solve(rate, steps=50):
    weight = 4.0
    for _ in range(steps):
        weight -= rate * 2 * weight
        if abs(weight) > 1e6:
            raise FloatingPointError(f"diverged: |w|={abs(weight):.1e} with rate {rate}")
    return round(float(np.abs(weight)), 6)


if __name__ == "__main__":
    executor = submitit.LocalExecutor(folder="logs")
    executor.update_parameters(timeout_min=1)
    results = {}
    for rate in (0.1, 1.7):
        job = executor.submit(solve, rate)
        error = job.exception()
        if error is not None:
            print(f"job {rate} FAILED, resubmitting with {rate / 4}:\n{error}", flush=True)
            job = executor.submit(solve, rate / 4)
        results[rate] = job.result()
    print("results", results)
