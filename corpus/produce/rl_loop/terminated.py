# /// case
# cause = "cancelled"
# exit_code = -15
# stop = {signal = "TERM", when = "update 30"}
# env = {PYTHONUNBUFFERED = "1"}
# why = "SIGTERM with nothing else known"
# ///
"""SIGTERM from outside ends the training without a word."""

import time

import numpy as np

rng = np.random.default_rng(0)
theta = np.zeros(6)
for update in range(100000):
    noise = rng.normal(size=(16, 6))
    returns = -np.square(theta + 0.1 * noise - 1).sum(1)
    theta += 0.05 * (noise * (returns - returns.mean())[:, None]).mean(0) / 0.1
    time.sleep(0.01)
    if update % 10 == 0:
        print(
            f"| update {update} | mean return {returns.mean():9.4f} | best {returns.max():9.4f} |"
        )
