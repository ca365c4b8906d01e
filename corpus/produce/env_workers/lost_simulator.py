# /// case
# cause = "killed_unknown"
# paper_class = ""
# exit_code = 1
# why = "a simulator was ended by SIGKILL; the advice about memory is a guess of the program, nothing says who sent it"
# ///
"""One of the simulators is killed from outside; the trainer names its exit code and guesses at memory."""

import logging
import multiprocessing as mp
import os
import signal
import sys
import threading
import time

import torch
from torch import nn

logging.basicConfig(level=logging.INFO, format="%(processName)s %(levelname)s %(message)s")


def somebody(pid, after_s):
    threading.Timer(after_s, os.kill, (pid, signal.SIGKILL)).start()


def simulator(pipe, seed):
    torch.manual_seed(seed)
    state = torch.zeros(4)
    while True:
        action = pipe.recv()
        state = 0.9 * state + 0.1 * action + 0.05 * torch.randn(4)
        pipe.send((state.numpy().tolist(), -float(state.square().sum())))


def main():
    context = mp.get_context("fork")
    pipes, processes = [], []
    for i in range(4):
        ours, theirs = context.Pipe()
        process = context.Process(target=simulator, args=(theirs, i), name=f"sim-{i}", daemon=True)
        process.start()
        theirs.close()
        pipes.append(ours)
        processes.append(process)
    logging.info("started %s", ", ".join(p.name for p in processes))
    policy = nn.Linear(4, 1)
    optimizer = torch.optim.Adam(policy.parameters(), lr=0.01)
    states = torch.zeros(4, 4)
    for step in range(1, 10_000):
        if step == 2:
            somebody(processes[2].pid, 1.0)
        actions = policy(states)
        try:
            for pipe, action in zip(pipes, actions.tolist(), strict=True):
                pipe.send(action[0])
            answers = [pipe.recv() for pipe in pipes]
        except (EOFError, ConnectionResetError, BrokenPipeError):
            time.sleep(0.3)
            gone = [p for p in processes if p.exitcode is not None]
            for p in gone:
                logging.error("%s is gone, exit code %s", p.name, p.exitcode)
            logging.error("training stopped at step %d (out of memory? too many workers?)", step)
            sys.exit(1)
        states = torch.tensor([a[0] for a in answers])
        loss = (policy(states) + states.sum(1, keepdim=True)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        time.sleep(0.005)
        if step % 50 == 0:
            reward = sum(a[1] for a in answers) / 4
            logging.info("step %d loss %.4f reward %.3f", step, loss.item(), reward)


main()
