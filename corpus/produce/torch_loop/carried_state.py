# /// case
# cause = "runtime_error"
# exit_code = 1
# ///
"""The hidden state of the last batch is carried on without detaching it."""

import torch
from torch import nn

torch.manual_seed(0)
rnn = nn.GRU(8, 32, batch_first=True)
head = nn.Linear(32, 1)
params = list(rnn.parameters()) + list(head.parameters())
optimizer = torch.optim.RMSprop(params, lr=1e-3)
signal = torch.sin(torch.linspace(0, 60, 4000)).view(4, -1, 1).repeat(1, 1, 8)

hidden = None
for step, start in enumerate(range(0, 960, 32)):
    window = signal[:, start : start + 33]
    out, hidden = rnn(window[:, :-1], hidden)
    loss = (head(out) - window[:, 1:, :1]).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(params, 1.0)
    optimizer.step()
    print(f"step={step} loss={loss.item():.6f}", flush=True)
