# /// case
# cause = "pickling"
# paper_class = "runtime_error"
# exit_code = 1
# ///
"""A lock goes to the spawned processes as an argument inside of a plain object."""

import dataclasses
import multiprocessing as std

import torch
import torch.multiprocessing as mp


@dataclasses.dataclass
class Plan:
    steps: int
    model: torch.nn.Module
    lock: object


def train(rank, plan):
    with plan.lock:
        print(rank, plan.steps, flush=True)


if __name__ == "__main__":
    lock = std.get_context("fork").Lock()
    plan = Plan(10, torch.nn.Linear(2, 2), lock)
    print("spawning 2 workers for", plan.steps, "steps")
    mp.spawn(train, args=(plan,), nprocs=2)
