# /// case
# cause = "shape_mismatch"
# paper_class = "runtime_error"
# exit_code = 1
# ///
"""The state of the full batches does not fit the smaller last batch of the epoch."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from tqdm import tqdm

text = "to be or not to be that is the question " * 50
chars = sorted(set(text))
ids = torch.tensor([chars.index(c) for c in text])
windows = ids[: len(ids) // 17 * 17].view(-1, 17)


class CharRNN(nn.Module):
    def __init__(self, vocab, width):
        super().__init__()
        self.embed = nn.Embedding(vocab, width)
        self.lstm = nn.LSTM(width, width, num_layers=2, batch_first=True)
        self.out = nn.Linear(width, vocab)

    def forward(self, x, state):
        h, state = self.lstm(self.embed(x), state)
        return self.out(h), tuple(s.detach() for s in state)


model = CharRNN(len(chars), 32)
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
loader = DataLoader(TensorDataset(windows), batch_size=16)
for epoch in range(3):
    state = None
    progress = tqdm(loader, desc=f"Epoch {epoch}")
    for (batch,) in progress:
        logits, state = model(batch[:, :-1], state)
        loss = nn.functional.cross_entropy(logits.transpose(1, 2), batch[:, 1:])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        progress.set_postfix({"loss": round(loss.item(), 3)})
