# /// case
# cause = "oom_killer"
# exit_code = 1
# command = "unshare --pid --fork --kill-child --mount-proc python {program}"
# needs = ["root"]
# env = {RAY_USAGE_STATS_ENABLED = "0", RAY_memory_usage_threshold = "0.02", RAY_memory_monitor_refresh_ms = "100", RAY_task_oom_retries = "1"}
# why = "ray's memory monitor killed the worker and says so"
# ///
"""Ray's memory monitor kills the task that builds the index, and its retry."""

import time

import ray


@ray.remote(max_retries=1)
def build_index(shards):
    rows = []
    for shard in range(shards):
        rows.append(bytearray(b"x") * (4 << 20))
        time.sleep(0.1)
        print(f"indexed shard {shard}", flush=True)
    return len(rows)


if __name__ == "__main__":
    ray.init(num_cpus=1, include_dashboard=False, object_store_memory=100 * 2**20)
    print("index of", ray.get(build_index.remote(100)), "shards")
