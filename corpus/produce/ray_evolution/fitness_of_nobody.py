# /// case
# cause = "div_zero"
# exit_code = 1
# timeout_s = 150
# ///
"""The fitness of an island without survivors is averaged in a remote task."""

import random

import ray

ray.init(num_cpus=2, include_dashboard=False, logging_level="error")


@ray.remote
class Island:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.population = [self.random.random() for _ in range(12)]

    def step(self, pressure):
        self.population = [p + self.random.random() * 0.1 for p in self.population if p > pressure]
        return sum(self.population) / len(self.population)


islands = [Island.remote(seed) for seed in range(2)]
for generation in range(6):
    fitness = ray.get([island.step.remote(0.3 * generation) for island in islands])
    print(f"generation {generation} mean fitness {fitness[0]:.3f} {fitness[1]:.3f}", flush=True)
