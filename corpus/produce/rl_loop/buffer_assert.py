# /// case
# cause = "assertion"
# exit_code = 1
# ///
"""The priorities of a replay buffer are checked by an assertion about its own sum tree."""

import numpy as np
from rich.console import Console

console = Console(width=100)


class SumTree:
    def __init__(self, capacity):
        self.capacity = capacity
        self.nodes = np.zeros(2 * capacity)

    def update(self, leaf, priority):
        index = leaf + self.capacity
        change = np.float32(priority) - np.float32(self.nodes[index])
        self.nodes[index] = priority
        while index > 1:
            index //= 2
            self.nodes[index] += change

    def check(self):
        total = self.nodes[self.capacity :].sum()
        assert abs(self.nodes[1] - total) < 1e-9 * max(1, total), (self.nodes[1], total)


rng = np.random.default_rng(0)
tree = SumTree(256)
for step in range(4000):
    tree.update(int(rng.integers(256)), float(rng.random() * 1.3 ** min(step // 100, 30)))
    if step % 200 == 0:
        console.log(f"step {step} total priority {tree.nodes[1]:.2f}")
        tree.check()
