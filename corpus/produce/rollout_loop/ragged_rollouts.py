# /// case
# cause = "data"
# paper_class = "traceback"
# exit_code = 1
# why = "the generated sequences have different lengths and nothing pads them: examples that cannot be batched"
# ///
"""The server stops some generations early, and the learner stacks them without padding."""

import json
import random
import socketserver
import threading

import httpx
import torch
from rich.logging import RichHandler
from torch import nn

import logging

logging.basicConfig(
    level="INFO", format="%(message)s", handlers=[RichHandler(show_path=False, markup=False)]
)
logging.getLogger("httpx").setLevel(logging.WARNING)
log = logging.getLogger("ppo")


class Server(socketserver.StreamRequestHandler):
    rng = random.Random(4)
    count = 0

    def handle(self):
        size = 0
        while line := self.rfile.readline().strip():
            name, _, value = line.partition(b":")
            size = int(value) if name.lower() == b"content-length" else size
        request = json.loads(self.rfile.read(size))
        Server.count += 1
        least = 5 if Server.count > 6 else 10
        choices = [
            [self.rng.randrange(64) for _ in range(self.rng.randint(least, 10))]
            for _ in range(request["n"])
        ]
        body = json.dumps({"choices": [{"token_ids": one} for one in choices]}).encode()
        self.wfile.write(
            b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s"
            % (len(body), body)
        )


class RolloutDataset(torch.utils.data.Dataset):
    def __init__(self, url, n):
        choices = httpx.post(url, json={"n": n, "stop": ["</s>"]}).json()["choices"]
        self.rows = [torch.tensor(one["token_ids"]) for one in choices]

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        return self.rows[i], (self.rows[i] < 32).float().mean()


def main():
    server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Server)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = "http://127.0.0.1:{}/generate".format(server.server_address[1])
    actor = nn.Sequential(nn.Embedding(64, 16), nn.Linear(16, 64))
    optimizer = torch.optim.Adam(actor.parameters(), lr=1e-3)
    for iteration in range(12):
        loader = torch.utils.data.DataLoader(RolloutDataset(url, 16), batch_size=8)
        for ids, reward in loader:
            logp = actor(ids[:, :-1]).log_softmax(-1).gather(2, ids[:, 1:, None]).mean((1, 2))
            loss = -(logp * (reward - reward.mean())).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        log.info("iteration %d reward %.4f kl 0.00%d", iteration, reward.mean().item(), iteration)


main()
