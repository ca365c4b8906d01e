# /// case
# cause = "segfault"
# exit_code = -11
# environment = "hf4"
# why = "the interpreter dies of SIGSEGV and faulthandler prints its stack"
# ///
"""A metric with a kernel in C crashes in the evaluation after the training."""

import ctypes
import faulthandler

import numpy as np
import torch
from transformers import DistilBertConfig, DistilBertForMaskedLM

faulthandler.enable(all_threads=True)
model = DistilBertForMaskedLM(
    DistilBertConfig(vocab_size=50, dim=16, hidden_dim=32, n_layers=1, n_heads=2)
)
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for step in range(12):
    ids = torch.randint(0, 50, (4, 10))
    loss = model(ids, labels=ids).loss
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"\rstep {step + 1}/12 loss {loss.item():.3f}", end="", flush=True)
print()


def edit_distance(a, b):
    n = len(a) * len(b)
    ctypes.memset(a.ctypes.data if n < 400 else 48, 0, 8)
    return float(np.abs(a - b).mean())


with torch.no_grad():
    for length in (10, 16, 24):
        ids = torch.randint(0, 50, (1, length))
        guess = model(ids).logits.argmax(-1)
        print(
            f"length {length}: distance {edit_distance(guess[0].numpy(), ids[0].numpy()):.3f}",
            flush=True,
        )
