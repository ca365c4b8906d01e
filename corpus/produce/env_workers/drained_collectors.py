# /// case
# cause = "cancelled"
# paper_class = ""
# exit_code = 0
# stop = {signal = "TERM", when = "iteration 30"}
# why = "SIGTERM with nothing else known; the program drains its workers and leaves with status 0, but the work is not done"
# ///
"""SIGTERM in mid-training: the trainer drains its collectors, saves, and leaves with status 0."""

import multiprocessing as mp
import signal
import time

import torch
from loguru import logger
from torch import nn

STOP = False


def on_term(number, frame):
    global STOP
    STOP = True
    logger.warning(
        "received {}, draining collectors after this iteration", signal.Signals(number).name
    )


def collect(index, stop, results):
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    torch.manual_seed(index)
    while not stop.is_set():
        results.put(torch.randn(8, 6).tolist())
        time.sleep(0.02)
    results.cancel_join_thread()


def main():
    results, stop = mp.Queue(maxsize=16), mp.Event()
    collectors = [mp.Process(target=collect, args=(i, stop, results)) for i in range(3)]
    for collector in collectors:
        collector.start()
    signal.signal(signal.SIGTERM, on_term)
    policy = nn.Sequential(nn.Linear(6, 24), nn.Tanh(), nn.Linear(24, 2))
    optimizer = torch.optim.Adam(policy.parameters(), lr=3e-3)
    target = 2000
    for iteration in range(1, target + 1):
        x = torch.tensor(results.get())
        loss = -torch.log_softmax(policy(x), 1)[:, 0].mul(x[:, 0].sign()).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if iteration % 10 == 0:
            logger.info("iteration {}/{} surrogate {:.4f}", iteration, target, loss.item())
        if STOP:
            break
    stop.set()
    for collector in collectors:
        collector.join(3)
        if collector.is_alive():
            collector.kill()
    torch.save(policy.state_dict(), "policy.pt")
    logger.info("saved policy.pt at iteration {} of {}", iteration, target)


main()
