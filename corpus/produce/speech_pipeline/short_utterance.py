# /// case
# cause = "nan_loss"
# exit_code = 1
# why = "the CTC loss of an utterance with more labels than frames is infinite; the guard of the recipe stops"
# ///
"""An utterance has more phones than frames: the CTC loss is infinite, and the recipe's guard gives up."""

import sys

import torch
from torch import nn


class Encoder(nn.Module):
    def __init__(self, bands=20, hidden=32, phones=12):
        super().__init__()
        self.rnn = nn.GRU(bands, hidden, batch_first=True, bidirectional=True)
        self.out = nn.Linear(2 * hidden, phones + 1)

    def forward(self, x):
        return self.out(self.rnn(x)[0]).log_softmax(-1)


def speakers(steps):
    generator = torch.Generator().manual_seed(11)
    for step in range(steps):
        frames = torch.randint(30, 60, (4,), generator=generator)
        phones = torch.randint(5, 12, (4,), generator=generator)
        if step >= 23:  # the second corpus is cut at pauses
            frames[1] = 8
            phones[1] = 14
        x = torch.randn(4, int(frames.max()), 20, generator=generator)
        y = torch.randint(1, 13, (4, int(phones.max())), generator=generator)
        yield [f"spk{step % 7}-{i}" for i in range(4)], x, frames, y, phones


torch.manual_seed(0)
model = Encoder()
ctc = nn.CTCLoss(blank=0)
optimizer = torch.optim.Adam(model.parameters(), 1e-3)
bad = 0
print("# phones 12 + blank, subsampling 1, max_nonfinite 5")
for step, (names, x, frames, y, phones) in enumerate(speakers(100), 1):
    loss = ctc(model(x).transpose(0, 1), y, frames, phones)
    optimizer.zero_grad()
    loss.backward()
    norm = nn.utils.clip_grad_norm_(model.parameters(), 5.0)
    optimizer.step()
    if not torch.isfinite(loss):
        bad += 1
        print(
            f"WARNING: non-finite loss {loss.item()} at step {step} (grad_norm {norm:.3f}) {names}"
        )
    elif step % 4 == 0:
        print(f"step={step} loss={loss.item():.4f} grad_norm={norm:.3f}", flush=True)
    if bad >= 5:
        print("ERROR: too many non-finite losses, stopping. Check the learning rate.", flush=True)
        sys.exit(1)
