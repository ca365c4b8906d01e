# /// case
# cause = "none"
# exit_code = 0
# ///
"""The feature store refuses twice before it answers; tenacity tries again."""

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


import logging
import socket

from tenacity import after_log, before_sleep_log, retry, stop_after_attempt, wait_fixed

logging.basicConfig(level=logging.DEBUG, stream=sys.stderr)
log = logging.getLogger("feature_store")
listener = socket.socket()
listener.bind(("127.0.0.1", 0))
tries = []


@retry(
    stop=stop_after_attempt(5),
    wait=wait_fixed(0.3),
    after=after_log(log, logging.WARNING),
    before_sleep=before_sleep_log(log, logging.ERROR, exc_info=True),
)
def open_store():
    tries.append(1)
    if len(tries) == 3:
        listener.listen()
    socket.create_connection(listener.getsockname(), timeout=2).close()


open_store()
model = Ridge().fit(*windows(sales()))
np.save("ridge.npy", model.w)
logger.success("forecaster stored in ridge.npy")
