# /// case
# cause = "oom_killer"
# exit_code = 1
# env = { RAY_memory_usage_threshold = "0.02", RAY_memory_monitor_refresh_ms = "100", RAY_task_oom_retries = "0", RAY_DEDUP_LOGS = "0" }
# timeout_s = 150
# why = "ray's memory monitor killed the worker and says so"
# ///
"""The memory monitor of ray kills a worker that builds its population; its threshold is low."""

import time

import numpy as np
import ray

ray.init(num_cpus=2, include_dashboard=False, logging_level="warning")


@ray.remote(max_retries=0)
def grow(generation):
    population = []
    for i in range(60):
        population.append(np.ones((1 << 20,)))
        time.sleep(0.1)
    return generation, len(population)


best = 0.0
for generation in range(3):
    number, size = ray.get(grow.remote(generation))
    best += 1.0 / (generation + 1)
    print(f"generation {number}: {size} individuals, best fitness {best:.3f}", flush=True)
