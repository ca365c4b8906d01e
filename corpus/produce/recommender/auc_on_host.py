# /// case
# cause = "device_mismatch"
# exit_code = 1
# why = "a tensor of another device is handed to numpy"
# ///
"""The scores of the evaluation are not on the host when scikit-learn asks for them."""

import torch
from sklearn.metrics import roc_auc_score
from torch import nn
from tqdm import tqdm

torch.manual_seed(0)
device = {"train": "cpu", "eval": "meta"}


def epoch(model, optimizer, batches):
    bar = tqdm(range(batches), desc="train", ncols=80)
    for _ in bar:
        x = torch.randn(128, 20)
        y = (x[:, 0] + 0.3 * torch.randn(128) > 0).float()
        loss = nn.functional.binary_cross_entropy_with_logits(model(x).squeeze(1), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        bar.set_postfix(loss=f"{loss.item():.3f}")


def evaluate(model):
    model = model.to(device["eval"])
    x = torch.randn(512, 20, device=device["eval"])
    y = torch.randint(0, 2, (512,))
    scores = torch.sigmoid(model(x)).squeeze(1)
    return roc_auc_score(y.numpy(), scores.detach().numpy())


model = nn.Sequential(nn.Linear(20, 32), nn.ReLU(), nn.Linear(32, 1)).to(device["train"])
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for n in range(2):
    epoch(model, optimizer, 25)
print(f"AUC {evaluate(model):.4f}")
