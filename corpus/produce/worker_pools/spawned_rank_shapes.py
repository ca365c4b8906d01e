# /// case
# cause = "shape_mismatch"
# paper_class = "runtime_error"
# exit_code = 1
# why = "the exception of the rank stands inside ProcessRaisedException"
# ///
"""A spawned rank multiplies matrices that do not fit."""

import torch
import torch.multiprocessing as mp


def run(rank, width):
    torch.manual_seed(rank)
    model = torch.nn.Sequential(torch.nn.Linear(width, 32), torch.nn.ReLU(), torch.nn.Linear(32, 4))
    x = torch.randn(8, width + rank)
    for step in range(3):
        loss = model(x).pow(2).mean()
        loss.backward()
        print(f"rank {rank} step {step} loss {loss.item():.4f}", flush=True)


def main(world=2):
    print(f"world size {world}, features 20")
    mp.spawn(run, args=(20,), nprocs=world, join=True)


if __name__ == "__main__":
    main()
