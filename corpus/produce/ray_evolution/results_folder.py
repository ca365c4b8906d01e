# /// case
# cause = "permission"
# exit_code = 1
# command = "setpriv --bounding-set=-dac_override,-dac_read_search,-fowner python {program}"
# needs = ["root"]
# timeout_s = 150
# why = "the PermissionError of the task is the cause of ray's error"
# ///
"""A remote task may not write its result into the shared folder."""

import json
import os

import ray

os.makedirs("results/evolution")
os.chmod("results/evolution", 0o555)
ray.init(num_cpus=2, include_dashboard=False, logging_level="error")
FOLDER = os.path.abspath("results/evolution")


@ray.remote
def run(seed, folder):
    score = (seed * 37 % 11) / 11
    print("seed", seed, "score", round(score, 3), flush=True)
    with open(os.path.join(folder, f"seed{seed}.json"), "w") as out:
        json.dump({"score": score}, out)
    return score


print("best", max(ray.get([run.remote(seed, FOLDER) for seed in range(3)])))
