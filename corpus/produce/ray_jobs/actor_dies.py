# /// case
# cause = "segfault"
# exit_code = 1
# env = {RAY_USAGE_STATS_ENABLED = "0"}
# why = "the worker's own stack dump says SIGSEGV; ray only lists what it might have been"
# ///
"""An actor dies of a native crash; ray tells what it knows about the lost process."""

import ctypes

import ray


@ray.remote
class Simulator:
    def __init__(self, seed):
        self.state = seed

    def rollout(self, steps):
        for _ in range(steps):
            self.state += 1
        if self.state > 25:
            ctypes.string_at(16)
        return self.state


if __name__ == "__main__":
    ray.init(num_cpus=2, include_dashboard=False)
    simulators = [Simulator.remote(seed) for seed in (0, 3)]
    for iteration in range(4):
        returns = ray.get([one.rollout.remote(8) for one in simulators])
        print(f"iteration {iteration}: returns {returns}", flush=True)
