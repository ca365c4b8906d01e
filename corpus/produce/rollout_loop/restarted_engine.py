# /// case
# cause = "none"
# exit_code = 0
# why = "the engine that died is started again and the run ends with a saved policy"
# ///
"""The rollout engine crashes twice; the supervisor thread starts it again and the run ends well."""

import logging
import os
import queue
import random
import sys
import traceback
from multiprocessing import get_context

import torch
from torch import nn

FORMAT = "%(asctime)s %(processName)s %(levelname)s: %(message)s"


def engine(requests, answers, generation):
    logging.basicConfig(level=logging.INFO, format=FORMAT, stream=sys.stderr)
    rng = random.Random(generation)
    logging.info("engine ready, generation %d", generation)
    count = 0
    while (batch := requests.get()) is not None:
        count += 1
        try:
            if generation < 2 and count == 6 + generation:
                raise RuntimeError("KV cache block table is corrupted: block 17 has refcount -1")
            answers.put([[rng.randrange(16) for _ in range(8)] for _ in range(batch)])
        except RuntimeError:
            logging.error("engine core encountered a fatal error")
            traceback.print_exc()
            os._exit(1)


class Supervisor:
    def __init__(self):
        self.context, self.generation = get_context("spawn"), 0
        self.start()

    def start(self):
        self.requests, self.answers = self.context.Queue(), self.context.Queue()
        self.process = self.context.Process(
            target=engine,
            args=(self.requests, self.answers, self.generation),
            name=f"Engine-{self.generation}",
            daemon=True,
        )
        self.process.start()

    def generate(self, n):
        self.requests.put(n)
        while True:
            try:
                return torch.tensor(self.answers.get(timeout=0.5))
            except queue.Empty:
                if not self.process.is_alive():
                    logging.warning("engine exited with %d, restarting it", self.process.exitcode)
                    self.generation += 1
                    self.start()
                    self.requests.put(n)


def main():
    logging.basicConfig(level=logging.INFO, format=FORMAT, stream=sys.stderr)
    torch.manual_seed(0)
    supervisor = Supervisor()
    policy = nn.Embedding(16, 16)
    optimizer = torch.optim.Adam(policy.parameters(), lr=0.05)
    for step in range(1, 31):
        ids = supervisor.generate(32)
        reward = (ids < 8).float().mean(1)
        logp = policy(ids[:, :-1]).log_softmax(-1).gather(2, ids[:, 1:, None]).sum((1, 2))
        loss = -((reward - reward.mean()) * logp).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 5 == 0:
            logging.info(
                "step %d/30 reward %.3f grad norm %.3f",
                step,
                reward.mean().item(),
                policy.weight.grad.norm().item(),
            )
    supervisor.requests.put(None)
    torch.save(policy.state_dict(), "policy.pt")
    logging.info("policy written to policy.pt")


if __name__ == "__main__":
    main()
