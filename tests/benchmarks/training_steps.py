"""A training of two small layers that notes how long its steps take.

Arguments: the seconds that it trains at most, a file that ends it, and the file for its notes, one
line for each tenth of a second: the time, and the mean duration of a step there, in seconds.
"""

from __future__ import annotations

import os
import statistics
import sys
import time

import torch

_PART_S = 0.1


def main(seconds: str, stop: str, path: str) -> None:
    """Train, then write the notes."""
    torch.set_num_threads(1)
    model = torch.nn.Sequential(torch.nn.Linear(256, 256), torch.nn.ReLU(), torch.nn.Linear(256, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    batch = torch.randn(64, 256)
    notes: list[tuple[float, float]] = []
    part: list[float] = []
    now, end = time.time(), time.time() + float(seconds)
    next_part = now + _PART_S
    while now < end:
        loss = model(batch).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        before, now = now, time.time()
        part.append(now - before)
        if now >= next_part:
            notes.append((now, statistics.fmean(part)))
            part, next_part = [], now + _PART_S
            if os.path.exists(stop):
                break
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(f"{at} {duration}\n" for at, duration in notes)


if __name__ == "__main__":
    main(*sys.argv[1:])
