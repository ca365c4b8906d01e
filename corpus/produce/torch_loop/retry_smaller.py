# /// case
# cause = "none"
# exit_code = 0
# why = "the allocation failure is caught and the run ends well with a smaller batch"
# ///
"""Too large a batch is caught and halved; the run ends well."""

import torch
from torch import nn


def largest_batch(model, start):
    batch = start
    while True:
        try:
            with torch.no_grad():
                model(torch.empty(batch, 64))
            return batch
        except RuntimeError as error:
            print(f"batch {batch} does not fit: {error}")
            print("WARNING: halving the batch size and retrying")
            batch //= 1 << 14


model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2))
batch = largest_batch(model, 1 << 42)
batch = min(batch, 256)
print("using batch size", batch)
optimizer = torch.optim.Adam(model.parameters())
bad_steps = 0
for step in range(40):
    x = torch.randn(batch, 64)
    loss = nn.functional.cross_entropy(model(x), (x[:, 0] > 0).long())
    if not torch.isfinite(loss):
        bad_steps += 1
        continue
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 8 == 0:
        print(f"step {step} loss {loss.item():.4f} nan_steps {bad_steps}")
print(f"finished: {step + 1} steps, {bad_steps} skipped because of nan/inf, 0 errors")
