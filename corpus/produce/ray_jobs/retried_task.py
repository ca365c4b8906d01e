# /// case
# cause = "none"
# exit_code = 0
# env = {RAY_USAGE_STATS_ENABLED = "0"}
# why = "ray retries the crashed task and the work is done"
# ///
"""A task's worker exits abruptly on the first attempt; ray retries it and the work is done."""

import os

import ray


@ray.remote(max_retries=3)
def convert(shard):
    marker = f"shard{shard}.started"
    if shard == 2 and not os.path.exists(marker):
        open(marker, "w").close()
        os._exit(1)
    return shard * 100


if __name__ == "__main__":
    ray.init(num_cpus=2, include_dashboard=False)
    print("converted", sum(ray.get([convert.remote(k) for k in range(5)])), "rows")
    print("all 5 shards done")
