# /// case
# cause = "pickling"
# paper_class = "traceback"
# exit_code = 1
# env = {RAY_USAGE_STATS_ENABLED = "0"}
# ///
"""A remote function captures a lock, which ray cannot serialize."""

import threading

import ray

statistics = {"rows": 0}
lock = threading.Lock()


@ray.remote
def tokenize(lines):
    with lock:
        statistics["rows"] += len(lines)
    return [len(line.split()) for line in lines]


if __name__ == "__main__":
    ray.init(num_cpus=1, include_dashboard=False)
    print(ray.get([tokenize.remote(["a b", "c d e"]) for _ in range(3)]))
