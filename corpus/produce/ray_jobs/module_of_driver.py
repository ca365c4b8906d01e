# /// case
# cause = "missing_module"
# exit_code = 1
# env = {RAY_USAGE_STATS_ENABLED = "0"}
# why = "the worker lacks a module that only the driver has on its path"
# ///
"""The workers cannot import a module of the user's that only the driver has on its path."""

import sys
from pathlib import Path

import ray

Path("vendor").mkdir(exist_ok=True)
Path("vendor/rewards.py").write_text("def length_penalty(text):\n    return -0.1 * len(text)\n")
sys.path.append("vendor")

from rewards import length_penalty  # noqa: E402

if __name__ == "__main__":
    ray.init(num_cpus=1, include_dashboard=False)
    score = ray.remote(length_penalty)
    print("scores", ray.get([score.remote("a" * k) for k in range(4)]))
