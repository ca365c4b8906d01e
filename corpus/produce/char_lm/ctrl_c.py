# /// case
# cause = "cancelled"
# paper_class = "traceback"
# exit_code = 130
# stop = {signal = "INT", when = "it 40"}
# env = {PYTHONUNBUFFERED = "1"}
# ///
"""Ctrl-C is caught, the model is saved, and the program leaves with 130."""

import sys
import time
import traceback

import torch
from torch import nn
from tqdm import tqdm

data = torch.randint(0, 20, (5000,))
model = nn.Sequential(nn.Embedding(20, 16), nn.Linear(16, 20))
optimizer = torch.optim.Adam(model.parameters())


def train(iterations):
    for it in tqdm(range(iterations), mininterval=0.3):
        ix = torch.randint(0, 4999, (32,))
        loss = nn.functional.cross_entropy(model(data[ix]), data[ix + 1])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        time.sleep(0.02)
        if it % 20 == 0:
            tqdm.write(f"it {it} loss {loss.item():.4f}")


try:
    train(100000)
except KeyboardInterrupt:
    traceback.print_exc()
    print("Exiting from training early, saving model ...")
    torch.save(model.state_dict(), "interrupted.pt")
    sys.exit(130)
