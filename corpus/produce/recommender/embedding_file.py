# /// case
# cause = "permission"
# exit_code = 1
# command = "setpriv --bounding-set=-dac_override,-dac_read_search,-fowner python {program}"
# needs = ["root"]
# ///
"""The table of embeddings on the shared disk is opened for writing and may only be read."""

import os

import numpy as np
import torch

PATH = "artifacts/item_vectors.f32"
os.makedirs("artifacts")
np.random.default_rng(0).random((1000, 32), dtype=np.float32).tofile(PATH)
os.chmod(PATH, 0o444)

vectors = torch.from_numpy(np.fromfile(PATH, dtype=np.float32).reshape(1000, 32))
print("loaded", tuple(vectors.shape), "mean", round(vectors.mean().item(), 4))
vectors.requires_grad_()
optimizer = torch.optim.Adagrad([vectors], lr=0.1)
for step in range(40):
    a, b = torch.randint(1000, (2, 256))
    loss = (1 - torch.cosine_similarity(vectors[a], vectors[b])).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 10 == 0:
        print(f"[{step:04d}] cosine loss {loss.item():.5f}", flush=True)
print("writing the refined vectors back in place")
table = np.memmap(PATH, dtype=np.float32, mode="r+", shape=(1000, 32))
table[:] = vectors.detach().numpy()
table.flush()
