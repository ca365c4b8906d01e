# /// case
# cause = "too_many_files"
# paper_class = "traceback"
# exit_code = 1
# why = "OSError 24 in the workers of the loader; the RuntimeError at the end repeats it"
# ///
"""A new loader with persistent workers is made in every epoch and none is let go: the pipes use up the descriptors."""

import argparse
import resource

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Molecules(Dataset):
    """Random graphs; each item is a dense adjacency of at most nine atoms."""

    def __init__(self, n, hops):
        self.n, self.hops = n, hops

    def __len__(self):
        return self.n

    def __getitem__(self, index):
        generator = torch.Generator().manual_seed(index)
        adjacency = (torch.rand(9, 9, generator=generator) < 0.3).float()
        reach = torch.linalg.matrix_power(adjacency + torch.eye(9), self.hops).clamp(max=1)
        return reach / reach.sum(1, keepdim=True), adjacency.sum() / 81


class Readout(nn.Module):
    def __init__(self):
        super().__init__()
        self.atoms = nn.Parameter(torch.randn(9, 8))
        self.layer, self.out = nn.Linear(8, 8), nn.Linear(8, 1)

    def forward(self, reach):
        return self.out(torch.relu(self.layer(reach @ self.atoms)).mean(1))[:, 0]


def main():
    parser = argparse.ArgumentParser(description="curriculum over hops")
    parser.add_argument("--epochs", type=int, default=40)
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(soft, 128), hard))
    torch.manual_seed(0)
    model, stages = Readout(), []
    optimizer = torch.optim.Adam(model.parameters(), 1e-2)
    for epoch in range(options.epochs):
        data = Molecules(48, hops=1 + epoch % 4)
        loader = DataLoader(
            data, 16, num_workers=options.workers, persistent_workers=True, prefetch_factor=2
        )
        stages.append(loader)
        for reach, target in loader:
            loss = nn.functional.mse_loss(model(reach), target)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(f"epoch {epoch:3d} hops {data.hops} mse {loss.item():.5f}", flush=True)


if __name__ == "__main__":
    main()
