# /// case
# cause = "none"
# exit_code = 0
# ///
"""A small status server in the background fails to answer its last request."""

import sys
import threading
import time

import numpy as np

WORDS = ["yes", "no", "up", "down", "left", "right"]


class Classifier:
    """A softmax regression on spectral features."""

    def __init__(self, n_features=20):
        self.weights = np.zeros((n_features, len(WORDS)))

    def step(self, x, y, rate=0.3):
        scores = x @ self.weights
        p = np.exp(scores - scores.max(1, keepdims=True))
        p /= p.sum(1, keepdims=True)
        rows = np.arange(len(y))
        loss = -np.log(p[rows, y] + 1e-9).mean()
        p[rows, y] -= 1
        self.weights -= rate * x.T @ p / len(y)
        return float(loss)


def clips(seed, n=32):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, len(WORDS), n)
    x = rng.normal(size=(n, 20))
    x[np.arange(n), y] += 3
    return x, y


import socketserver
import urllib.request

STATE = {"epoch": 0}


class Status(socketserver.StreamRequestHandler):
    def handle(self):
        self.rfile.readline()
        body = f"epoch {STATE['epoch']}".encode()
        self.wfile.write(b"HTTP/1.0 200 OK\r\n\r\n" + body)


server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Status)
server.daemon_threads = False
threading.Thread(target=server.serve_forever, daemon=True).start()
url = f"http://127.0.0.1:{server.server_address[1]}/"
model = Classifier()
for STATE["epoch"] in range(4):
    loss = np.mean([model.step(*clips(STATE["epoch"] * 40 + i)) for i in range(40)])
    print(urllib.request.urlopen(url).read().decode(), f"loss {loss:.4f}", flush=True)
np.save("weights.npy", model.weights)
print("weights saved, shutting down", flush=True)
del STATE["epoch"]
try:
    urllib.request.urlopen(url).read()
except OSError:
    pass
server.shutdown()
server.server_close()
