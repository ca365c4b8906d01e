# /// case
# cause = "data"
# paper_class = "traceback"
# exit_code = 1
# why = "ids of the validation text lie outside the vocabulary that the model was sized for"
# ///
"""The validation text holds characters that the embedding has no row for."""

import torch
from torch import nn

TRAIN = "the quick brown fox jumps over the lazy dog. " * 60
VAL = "the café à côté was naïve about fjords. " * 20


class Vocabulary:
    def __init__(self):
        self.ids = {}

    def encode(self, text):
        return torch.tensor([self.ids.setdefault(c, len(self.ids)) for c in text])


class Bigram(nn.Module):
    def __init__(self, size, width=32):
        super().__init__()
        self.embedding = nn.Embedding(size, width)
        self.out = nn.Linear(width, size)

    def forward(self, x):
        return self.out(torch.tanh(self.embedding(x)))


vocab = Vocabulary()
train = vocab.encode(TRAIN)
model = Bigram(len(vocab.ids))
val = vocab.encode(VAL)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
for it in range(201):
    if it % 100 == 0 and it:
        with torch.no_grad():
            print(
                f"step {it}: val loss {nn.functional.cross_entropy(model(val[:-1]), val[1:]):.4f}"
            )
    ix = torch.randint(0, len(train) - 1, (64,))
    loss = nn.functional.cross_entropy(model(train[ix]), train[ix + 1])
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()
    if it % 25 == 0:
        print(f"iter {it}: loss {loss.item():.4f}")
