# /// case
# cause = "data"
# paper_class = "traceback"
# exit_code = 1
# why = "a record of the data set lacks the field that the data set reads"
# ///
"""A record without the field that the data set reads raises a KeyError in a worker."""

import torch
from torch.utils.data import DataLoader, Dataset
from tqdm import tqdm


class Interactions(Dataset):
    def __init__(self, n):
        self.rows = [{"user": i % 17, "item": i % 29, "rating": (i % 5) / 4} for i in range(n)]
        del self.rows[n // 2]["rating"]
        self.rows[n // 2]["score"] = 0.5

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        row = self.rows[i]
        return torch.tensor([row["user"], row["item"]]), torch.tensor(row["rating"])


class Factors(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.users = torch.nn.Embedding(17, 8)
        self.items = torch.nn.Embedding(29, 8)

    def forward(self, pairs):
        return (self.users(pairs[:, 0]) * self.items(pairs[:, 1])).sum(-1)


if __name__ == "__main__":
    model = Factors()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    loader = DataLoader(Interactions(400), batch_size=20, num_workers=2)
    bar = tqdm(loader, desc="epoch 0", ncols=90, mininterval=0)
    for pairs, rating in bar:
        loss = torch.nn.functional.mse_loss(model(pairs), rating)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        bar.set_postfix(loss=f"{loss.item():.4f}")
