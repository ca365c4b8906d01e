# /// case
# cause = "div_zero"
# exit_code = 1
# ///
"""The mean over an interval in which nothing was counted divides by zero."""

import random


class Meter:
    def __init__(self):
        self.sum, self.n = 0.0, 0

    def add(self, value):
        self.sum += value
        self.n += 1

    def mean(self):
        mean = self.sum / self.n
        self.sum, self.n = 0.0, 0
        return mean


random.seed(5)
rewards, lengths = Meter(), Meter()
length = 0
for step in range(1, 20001):
    length += 1
    if random.random() < 0.02 / (1 + step / 1500):
        rewards.add(random.gauss(step / 1000, 1))
        lengths.add(length)
        length = 0
    if step % 500 == 0:
        print(
            f"timesteps {step} ep_rew_mean {rewards.mean():.2f} ep_len_mean {lengths.mean():.1f}",
            flush=True,
        )
