# /// case
# cause = "none"
# exit_code = 0
# ///
"""A small model learns well; its log starts with infinite losses and warns of many things."""

import warnings

import torch
from torch import nn

warnings.simplefilter("always")
warnings.warn(
    "Failed to load fused kernel: No module named 'flash_attn'. Using slow attention", ImportWarning
)
warnings.warn("CUDA initialization: no NVIDIA driver was found, running on CPU", UserWarning)
torch.manual_seed(0)
text = "she sells sea shells by the sea shore and kills time killing errors. " * 20
chars = sorted(set(text))
data = torch.tensor([chars.index(c) for c in text])
model = nn.Sequential(
    nn.Embedding(len(chars), 24), nn.Linear(24, 48), nn.ReLU(), nn.Linear(48, len(chars))
)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 400)
best = float("inf")
patience, bad = 5, 0
for it in range(401):
    ix = torch.randint(len(data) - 1, (48,))
    loss = nn.functional.cross_entropy(model(data[ix]), data[ix + 1])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    scheduler.step()
    if it % 40 == 0:
        print(
            f"iter {it}: train loss {loss.item():.4f} best {best:.4f} | inf/nan gradients so far: 0"
        )
        if loss.item() < best:
            best, bad = loss.item(), 0
        else:
            bad += 1
            print(f"no improvement ({bad}/{patience}), will abort after {patience}")
print("training done. best loss:", round(best, 4))
