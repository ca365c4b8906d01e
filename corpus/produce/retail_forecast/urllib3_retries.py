# /// case
# cause = "none"
# exit_code = 0
# ///
"""The upload of each epoch's forecast is refused after urllib3's retries; that is only a warning."""

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

import requests
from requests.adapters import HTTPAdapter
from urllib3.util import Retry

logging.basicConfig(level=logging.WARNING, stream=sys.stderr)
session = requests.Session()
session.mount("http://", HTTPAdapter(max_retries=Retry(total=2, backoff_factor=0.1)))


def upload(epoch):
    try:
        session.post("http://127.0.0.1:9/forecasts", json={"epoch": epoch}, timeout=2)
    except requests.ConnectionError as error:
        logger.warning(f"forecast of epoch {epoch} stays here: {error}")


model = Ridge().fit(*windows(sales()), epochs=3, each=upload)
x, y = windows(sales())
logger.info(f"test mae={np.abs(x @ model.w - y).mean():.4f}")
