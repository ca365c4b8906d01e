# /// case
# cause = "div_zero"
# exit_code = 1
# ///
"""The density of a graph is computed in a loader's worker; a molecule of one atom divides by zero."""

import random

import torch
from rich.progress import track
from torch import nn
from torch.utils.data import DataLoader, Dataset

ATOMS = "CNOFPS"


def parse(smiles):
    atoms = [c for c in smiles if c in ATOMS]
    bonds = [(i, i + 1) for i in range(len(atoms) - 1)]
    if smiles.endswith("1") and len(atoms) > 2:
        bonds.append((0, len(atoms) - 1))
    return atoms, bonds


class Zinc(Dataset):
    def __init__(self, n, seed):
        rng = random.Random(seed)
        self.rows = ["".join(rng.choices(ATOMS, k=rng.randint(3, 12))) for _ in range(n)]
        self.rows[: n // 3] = [f"{row}1" for row in self.rows[: n // 3]]
        self.rows[n - 9] = "[P]"

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        atoms, bonds = parse(self.rows[index])
        n, m = len(atoms), len(bonds)
        counts = [atoms.count(a) / n for a in ATOMS]
        density = 2 * m / (n * (n - 1))
        return torch.tensor([*counts, density]), torch.tensor(float(m >= n))


def run(epochs=2):
    data = Zinc(160, seed=8)
    loader = DataLoader(data, batch_size=8, num_workers=1)
    net = nn.Sequential(nn.Linear(7, 32), nn.SiLU(), nn.Linear(32, 1))
    optimizer = torch.optim.RMSprop(net.parameters(), 1e-3)
    for epoch in range(epochs):
        hits = 0
        for x, y in track(loader, description=f"epoch {epoch}"):
            logit = net(x)[:, 0]
            loss = nn.functional.binary_cross_entropy_with_logits(logit, y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            hits += int(((logit > 0) == (y > 0)).sum())
        print(f"epoch {epoch}: ring accuracy {hits / len(data):.3f}")


if __name__ == "__main__":
    torch.manual_seed(0)
    run()
