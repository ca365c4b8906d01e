# /// case
# cause = "cancelled"
# paper_class = ""
# exit_code = 143
# stop = { signal = "TERM", when = "[hop 2] step 20" }
# why = "SIGTERM with nothing said about its sender; the program saves and leaves with 143"
# ///
"""SIGTERM comes in mid-training of a graph network; the handler saves, lets the workers go and leaves."""

import signal
import sys
import time

import torch
from torch import nn
from torch.utils.data import DataLoader, IterableDataset, get_worker_info


class Walks(IterableDataset):
    def __init__(self, hops):
        self.hops = hops

    def __iter__(self):
        info = get_worker_info()
        generator = torch.Generator().manual_seed(info.id if info else 0)
        while True:
            walk = torch.randint(0, 50, (self.hops + 1,), generator=generator)
            yield walk, torch.rand(1, generator=generator)


class Stopper:
    asked = None

    def __init__(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self)

    def __call__(self, number, frame):
        self.asked = number


def fit(model, optimizer, hops, stopper):
    loader = DataLoader(Walks(hops), batch_size=16, num_workers=1)
    for step, (walk, weight) in zip(range(1, 101), loader):
        score = model(walk).prod(1).sum(-1)
        loss = ((score - weight[:, 0]) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        time.sleep(0.02)
        if step % 10 == 0:
            print(f"[hop {hops}] step {step} loss {loss.item():.5f}", flush=True)
        if stopper.asked:
            return step
    return None


def main():
    torch.manual_seed(0)
    stopper = Stopper()
    model = nn.Embedding(50, 8)
    optimizer = torch.optim.Adam(model.parameters(), 0.01)
    for hops in range(1, 5):
        step = fit(model, optimizer, hops, stopper)
        if step is not None:
            name = signal.Signals(stopper.asked).name
            print(f"caught {name} at hop {hops} step {step}: saving snapshot.pt and shutting down")
            torch.save(model.state_dict(), "snapshot.pt")
            sys.exit(128 + stopper.asked)
        print(f"[hop {hops}] finished", flush=True)


if __name__ == "__main__":
    main()
