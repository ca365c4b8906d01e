# /// case
# cause = "segfault"
# exit_code = 1
# env = {RAY_USAGE_STATS_ENABLED = "0"}
# timeout_s = 180
# why = "every attempt of the task dies by SIGSEGV in native code, in ray's WorkerCrashedError"
# ///
"""A native scorer crashes the worker of a task on one chunk, at every retry."""

import ctypes
import faulthandler

import ray


@ray.remote(max_retries=1)
def score(chunk):
    faulthandler.enable()
    total = 0.0
    for index in chunk:
        if index == 37:
            ctypes.memset(8, 0, index)
        total += index**0.5
    return total


def main():
    ray.init(num_cpus=2, include_dashboard=False)
    chunks = [list(range(start, start + 10)) for start in range(0, 60, 10)]
    for number, reference in enumerate([score.remote(chunk) for chunk in chunks]):
        print(f"chunk {number}: {ray.get(reference):.3f}", flush=True)
    print("all chunks scored")


main()
