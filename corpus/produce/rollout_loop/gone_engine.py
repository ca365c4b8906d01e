# /// case
# cause = "killed_unknown"
# paper_class = ""
# exit_code = 1
# why = "the generation server was ended by SIGKILL and nothing says by whom; the trainer's refused connection follows from it"
# ///
"""The engine that generates the rollouts is killed; the trainer sees a refused connection."""

import json
import logging
import os
import random
import signal
import socket
import subprocess
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import requests
import torch
from torch import nn

logging.basicConfig(
    level=logging.INFO,
    format="(%(name)s) %(levelname)s %(asctime)s %(message)s",
    datefmt="%m-%d %H:%M:%S",
)


class Completions(BaseHTTPRequestHandler):
    served = 0

    def do_POST(self):
        Completions.served += 1
        wanted = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["n"]
        if Completions.served == 13:
            os.kill(os.getpid(), signal.SIGKILL)
        rows = [{"token_ids": [random.randrange(32) for _ in range(12)]} for _ in range(wanted)]
        body = json.dumps({"choices": rows}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        if Completions.served % 6 == 0:
            logging.getLogger("EngineCore pid=31").info(
                "Avg generation throughput: %d tokens/s, Running: 4 reqs", 400 + Completions.served
            )


class Engine:
    def __init__(self, port):
        self.log = logging.getLogger("Trainer")
        self.url = f"http://127.0.0.1:{port}/v1/completions"
        self.process = subprocess.Popen([sys.executable, __file__, "serve", str(port)])
        for _ in range(200):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    return
            time.sleep(0.1)

    def generate(self, n):
        for attempt in range(3):
            try:
                answer = requests.post(self.url, json={"model": "policy", "n": n}, timeout=20)
                return [one["token_ids"] for one in answer.json()["choices"]]
            except requests.ConnectionError as error:
                self.log.warning(
                    "rollout request failed (attempt %d/3): %s", attempt + 1, type(error).__name__
                )
                code = self.process.poll()
                if code is not None:
                    self.log.error("engine process exited with code %s", code)
                time.sleep(0.5)
        raise RuntimeError(
            "EngineDeadError: no rollouts, see the stack trace above for the root cause"
        )


def train():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    engine = Engine(port)
    policy = nn.Embedding(32, 32)
    optimizer = torch.optim.AdamW(policy.parameters(), lr=1e-2)
    for step in range(40):
        ids = torch.tensor(engine.generate(4))
        reward = (ids % 3 == 0).float().mean(1)
        advantage = (reward - reward.mean()) / (reward.std() + 1e-4)
        logp = policy(ids[:, :-1]).log_softmax(-1).gather(2, ids[:, 1:, None]).squeeze(2).sum(1)
        loss = -(advantage * logp).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 4 == 0:
            engine.log.info(
                "step %d reward %.3f loss %.4f", step, reward.mean().item(), loss.item()
            )


if sys.argv[1:2] == ["serve"]:
    ThreadingHTTPServer(("127.0.0.1", int(sys.argv[2])), Completions).serve_forever()
else:
    train()
