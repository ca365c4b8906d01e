# /// case
# cause = "shape_mismatch"
# paper_class = "traceback"
# exit_code = 1
# env = {RAY_USAGE_STATS_ENABLED = "0"}
# why = "the root is the ValueError of numpy inside RayTaskError"
# ///
"""A remote task multiplies arrays that do not fit; the driver gets RayTaskError."""

import numpy as np
import ray


@ray.remote
def project(block, weights):
    return block @ weights


if __name__ == "__main__":
    ray.init(num_cpus=2, include_dashboard=False)
    rng = np.random.default_rng(0)
    weights = ray.put(rng.normal(size=(64, 8)))
    blocks = [rng.normal(size=(100, 64 if k < 4 else 63)) for k in range(6)]
    total = 0.0
    for k, reference in enumerate([project.remote(block, weights) for block in blocks]):
        total += float(ray.get(reference).sum())
        print(f"block {k}: total {total:.3f}", flush=True)
