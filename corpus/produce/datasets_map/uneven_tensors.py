# /// case
# cause = "data"
# paper_class = "runtime_error"
# exit_code = 1
# environment = "hf4"
# why = "spectra of unequal length cannot be stacked to a batch"
# ///
"""Unpadded features reach the default collate of the loader after a few batches."""

import torch
from datasets import Dataset
from torch.utils.data import DataLoader
from tqdm.auto import tqdm

spectra = Dataset.from_dict(
    {"x": [[0.1] * (40 if i != 530 else 39) for i in range(640)], "y": [i % 2 for i in range(640)]}
).with_format("torch")
net = torch.nn.Linear(40, 2)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
loader = DataLoader(spectra, batch_size=16, num_workers=2)
for epoch in range(2):
    for batch in tqdm(loader, desc=f"epoch {epoch}"):
        loss = torch.nn.functional.cross_entropy(net(batch["x"]), batch["y"])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch} loss {loss.item():.4f}")
