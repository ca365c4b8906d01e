# /// case
# cause = "none"
# exit_code = 0
# why = "crashed and stuck environments are replaced within their budget, and all updates are done"
# ///
"""Environments crash, hang and are killed, each is replaced, and the training makes all of its updates."""

import ctypes
import faulthandler
import logging
import multiprocessing as mp
import random
import signal
import time

import torch
from torch import nn

logging.basicConfig(
    level=logging.INFO,
    format="%(asctime)s.%(msecs)03d %(levelname)-8s %(message)s",
    datefmt="%H:%M:%S",
)


def environment(pipe, slot, life):
    faulthandler.enable()
    random.seed(slot * 31 + life)
    for step in range(10_000):
        action = pipe.recv()
        if life == 0 and slot == 1 and step == 12:
            ctypes.string_at(8)
        if life == 0 and slot == 2 and step == 20:
            time.sleep(60)
        if life == 1 and slot == 2 and step == 5:
            raise MemoryError("simulator arena exhausted")
        pipe.send([random.gauss(action, 1) for _ in range(3)])


class Slot:
    def __init__(self, index):
        self.index, self.life = index, -1
        self.start()

    def start(self):
        self.life += 1
        self.pipe, theirs = mp.Pipe()
        self.process = mp.Process(
            target=environment, args=(theirs, self.index, self.life), daemon=True
        )
        self.process.start()
        theirs.close()

    def step(self, action):
        while True:
            try:
                self.pipe.send(action)
                if not self.pipe.poll(1.0):
                    raise TimeoutError("no answer within 1s")
                return self.pipe.recv()
            except (EOFError, OSError) as error:
                self.process.kill()
                self.process.join()
                code = self.process.exitcode
                reason = signal.Signals(-code).name if code < 0 else f"status {code}"
                logging.error(
                    "env %d died (%s, %s); restart %d",
                    self.index,
                    reason,
                    type(error).__name__,
                    self.life + 1,
                )
                if self.life >= 5:
                    raise
                self.start()


def main():
    torch.manual_seed(0)
    slots = [Slot(i) for i in range(4)]
    value = nn.Linear(3, 1)
    optimizer = torch.optim.Adam(value.parameters(), lr=0.02)
    for update in range(1, 61):
        batch = torch.tensor([slot.step(0.5) for slot in slots])
        loss = (value(batch) - batch.mean(1, keepdim=True)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if update % 10 == 0:
            logging.info(
                "update %d/60 value_loss %.4f restarts %d",
                update,
                loss.item(),
                sum(s.life for s in slots),
            )
    for slot in slots:
        slot.process.terminate()
    logging.info("all 60 updates done, terminating environments")


main()
