# /// case
# cause = "dependency"
# paper_class = "traceback"
# exit_code = 1
# env = {RAY_USAGE_STATS_ENABLED = "0", RAY_DEDUP_LOGS = "0"}
# why = "the actor uses a name that NumPy 2 has removed; the constructor's error stands inside ActorDiedError"
# ///
"""The constructor of an actor uses a name that the installed NumPy no longer has."""

import numpy as np
import ray
from ray.util import ActorPool


@ray.remote(max_restarts=1)
class Normalizer:
    def __init__(self, channels, dtype=None):
        self.dtype = dtype or np.float_
        self.mean, self.count = np.zeros(channels, self.dtype), 0

    def update(self, rows):
        self.count += len(rows)
        self.mean += (rows - self.mean).sum(0) / self.count
        return self.count


@ray.remote
def read_block(number, channels):
    return np.random.default_rng(number).normal(size=(500, channels))


def main():
    ray.init(num_cpus=2, include_dashboard=False)
    blocks = [read_block.remote(i, 4) for i in range(8)]
    print("first block", ray.get(blocks[0]).shape, flush=True)
    pool = ActorPool([Normalizer.options(name=f"norm-{i}").remote(4) for i in range(2)])
    for count in pool.map(lambda actor, block: actor.update.remote(block), blocks):
        print("rows so far", count, flush=True)


if __name__ == "__main__":
    main()
