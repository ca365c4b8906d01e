# /// case
# cause = "none"
# exit_code = 0
# ///
"""Prices come from a service that is overloaded at first; backoff waits."""

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


import http.server
import logging
import threading

import backoff
import requests

logging.basicConfig(level=logging.INFO, stream=sys.stderr)
answers = iter([503, 500, 200])


class Prices(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(next(answers, 200))
        self.end_headers()
        self.wfile.write(b"{}")


server = http.server.HTTPServer(("127.0.0.1", 0), Prices)
threading.Thread(target=server.serve_forever, daemon=True).start()


@backoff.on_exception(backoff.constant, requests.HTTPError, max_tries=5, interval=0.2, jitter=None)
def prices():
    response = requests.get(f"http://127.0.0.1:{server.server_port}/prices", timeout=3)
    response.raise_for_status()
    return response.json()


prices()
Ridge().fit(*windows(sales()), epochs=8)
