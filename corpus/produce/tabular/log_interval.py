# /// case
# cause = "div_zero"
# exit_code = 1
# ///
"""The interval between two reports is zero for a short training: modulo by zero."""

import numpy as np


class ProgressReport:
    def __init__(self, steps, reports=20):
        self.interval = steps // reports
        self.steps = steps

    def __call__(self, step, loss):
        if step % self.interval == 0:
            print(f"{step}/{self.steps} {loss:.4f}")


def train(steps):
    rng = np.random.default_rng(0)
    report = ProgressReport(steps)
    w = np.zeros(5)
    for step in range(steps):
        x = rng.normal(size=(64, 5))
        error = x @ w - x[:, 0]
        w -= 0.1 * x.T @ error / len(x)
        report(step, np.mean(error**2))
    return w


for name, steps in (("warm-up", 100), ("main", 400), ("polish", 16)):
    print(f"phase {name}", flush=True)
    train(steps)
