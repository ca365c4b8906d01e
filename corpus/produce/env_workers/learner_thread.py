# /// case
# cause = "traceback"
# exit_code = 4
# why = "the learner's thread dies of the IndexError of the program; what the main thread says at the end only follows"
# ///
"""The learner's thread dies of an error of its own; the actors fill the buffer until the main thread notices."""

import collections
import multiprocessing as mp
import random
import sys
import threading
import time

import torch
from torch import nn


class Replay:
    def __init__(self, capacity):
        self.items = collections.deque(maxlen=capacity)

    def sample(self, n):
        return [self.items[random.randint(0, len(self.items))] for _ in range(n)]


def act(worker, queue):
    random.seed(worker)
    for step in range(100_000):
        queue.put([random.gauss(0, 1) for _ in range(5)])
        time.sleep(0.002)


class Learner(threading.Thread):
    def __init__(self, replay):
        super().__init__(name="learner", daemon=True)
        self.replay, self.updates = replay, 0
        self.q = nn.Linear(4, 1)
        self.optimizer = torch.optim.SGD(self.q.parameters(), lr=0.05)

    def run(self):
        while True:
            if len(self.replay.items) < 200:
                time.sleep(0.01)
                continue
            batch = torch.tensor(self.replay.sample(32))
            loss = (self.q(batch[:, :4])[:, 0] - batch[:, 4]).square().mean()
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            self.updates += 1
            if self.updates % 5 == 0:
                print(f"learner update {self.updates} td_error {loss.item():.4f}", flush=True)
            time.sleep(0.01)


def main():
    random.seed(1)
    torch.set_num_threads(1)
    queue = mp.Queue()
    actors = [mp.Process(target=act, args=(i, queue), daemon=True) for i in range(2)]
    for actor in actors:
        actor.start()
    replay = Replay(2000)
    learner = Learner(replay)
    learner.start()
    for received in range(1, 3001):
        replay.items.append(queue.get(timeout=10))
        if received % 500 == 0:
            print(
                f"received {received} buffer {len(replay.items)} updates {learner.updates}",
                flush=True,
            )
    for actor in actors:
        actor.terminate()
    if not learner.is_alive():
        print(f"FATAL: learner is not alive after {learner.updates} updates, exiting", flush=True)
        sys.exit(4)


main()
