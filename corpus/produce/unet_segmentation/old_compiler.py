# /// case
# cause = "compile_error"
# paper_class = "traceback"
# exit_code = 1
# env = { CXX = "./toolset/g++" }
# why = "inductor's C++ does not compile; the compiler is there and is too old for the flags"
# ///
"""The compiler of an old tool set does not know the language standard that inductor asks for."""

import logging
import os
import time
from pathlib import Path

import torch
from torch import nn

logging.basicConfig(level=logging.INFO, format="%(asctime)s | %(levelname)-7s | %(message)s")
OLD = """#!/bin/bash
[ "$1" = --version ] && { echo "g++ (GCC) 4.8.5 20150623 (Red Hat 4.8.5-44)"; exit 0; }
for option in "$@"; do
    case $option in -std=c++1[1]) ;; -std=*) echo "g++: error: unrecognized command line option ‘$option’" >&2; bad=1 ;; esac
done
[ -z "$bad" ] && exec /usr/bin/g++ "$@"
exit 1
"""


def tool_set():
    """What the module system of the site puts in front."""
    path = Path("toolset/g++")
    path.parent.mkdir()
    path.write_text(OLD)
    path.chmod(0o755)
    os.environ["CXX"] = str(path.resolve())


def run(network, optimizer, steps, label):
    for step in range(1, steps + 1):
        image = torch.rand(2, 1, 32, 32)
        mask = (image[:, 0] > 0.6).long()
        started = time.perf_counter()
        loss = nn.functional.cross_entropy(network(image), mask)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        spent = time.perf_counter() - started
        logging.info("%s step %d: loss %.4f (%.0f ms)", label, step, loss.item(), 1000 * spent)


tool_set()
torch.manual_seed(0)
network = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 2, 1), nn.Tanh())
optimizer = torch.optim.AdamW(network.parameters(), 1e-2)
run(network, optimizer, 5, "warm-up (eager)")
logging.info("compiling the network, backend=inductor")
run(torch.compile(network), optimizer, 50, "compiled")
