# /// case
# cause = "none"
# exit_code = 0
# ///
"""A warning is shown with its stack, and an unreadable calendar is replaced by none."""

import sys

import numpy as np
from loguru import logger

logger.remove()
logger.add(
    sys.stderr,
    format="{time:HH:mm:ss.SSS} | {level: <7} | {message}",
    backtrace=False,
    diagnose=False,
)
rng = np.random.default_rng(11)


def sales(stores=8, days=120):
    season = 5 + 2 * np.sin(np.arange(days) / 7 * 2 * np.pi)
    return season + rng.normal(size=(stores, days)) * 0.3


def windows(series, lag=14):
    x = np.lib.stride_tricks.sliding_window_view(series, lag + 1, axis=1).reshape(-1, lag + 1)
    return x[:, :lag], x[:, lag]


class Ridge:
    def __init__(self, lag=14):
        self.w = np.zeros(lag)

    def fit(self, x, y, epochs=5, each=None):
        for epoch in range(1, epochs + 1):
            for _ in range(40):
                self.w -= 2e-4 * (x.T @ (x @ self.w - y) / len(y) * 10 + 0.01 * self.w)
            logger.info(f"epoch {epoch}/{epochs} mae={np.abs(x @ self.w - y).mean():.4f}")
            if each:
                each(epoch)
        return self


import json
import traceback
import warnings


def show(message, category, filename, lineno, file=None, line=None):
    traceback.print_stack()
    print(f"{category.__name__}: {message}", file=sys.stderr)


warnings.showwarning = show
warnings.simplefilter("always")
try:
    holidays = json.loads('{"2024-12-25": "Christmas", "2024-12-26"')
except json.JSONDecodeError:
    logger.opt(exception=True).warning("calendar.json is broken, training without holidays")
    holidays = {}
x, y = windows(sales())
scale = np.log(x[:3] - x[:3]).sum()
model = Ridge().fit(x, y, epochs=4)
logger.info(
    f"saved forecaster v{len(holidays) + 1} (mae on train {np.abs(x @ model.w - y).mean():.3f})"
)
