# /// case
# cause = "config"
# paper_class = "traceback"
# exit_code = 1
# env = {RAY_USAGE_STATS_ENABLED = "0"}
# why = "a resource that the cluster does not have is asked for; the wait ends by the program's own limit"
# ///
"""A task asks for GPUs that the cluster lacks, and the driver's get times out."""

import ray


@ray.remote(num_gpus=1)
def train(lr):
    return lr * 2


if __name__ == "__main__":
    ray.init(num_cpus=2, num_gpus=0, include_dashboard=False)
    print(
        "cluster resources:",
        {k: v for k, v in ray.cluster_resources().items() if k in ("CPU", "GPU")},
    )
    reference = train.remote(0.1)
    ready, pending = ray.wait([reference], timeout=12)
    print(f"ready {len(ready)}, pending {len(pending)}", flush=True)
    print(ray.get(reference, timeout=3))
