# /// case
# cause = "nan_loss"
# paper_class = "nan_loss"
# exit_code = 0
# why = "the loss is nan from the first epoch to the end and nothing stops it"
# ///
"""A sentence without words is nothing but padding, its attention is nan, and so is everything after it."""

import torch
from torch import nn
from tqdm import tqdm

torch.manual_seed(1)
torch.set_num_threads(1)
PAD, WORDS = 0, 50


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(WORDS, 16, padding_idx=PAD)
        self.query = nn.Linear(16, 16)
        self.head = nn.Linear(16, 2)

    def forward(self, tokens):
        x = self.embed(tokens)
        scores = self.query(x) @ x.transpose(1, 2) / 4
        scores = scores.masked_fill((tokens == PAD)[:, None], float("-inf"))
        return self.head((scores.softmax(-1) @ x).mean(1))


lengths = torch.randint(2, 9, (192,))
lengths[61] = 0
tokens = torch.randint(1, WORDS, (192, 8)) * (torch.arange(8) < lengths[:, None])
labels = (tokens > 25).sum(1).gt(2).long()
model = Encoder()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
for epoch in range(3):
    total = 0.0
    bar = tqdm(range(0, 192, 16), desc=f"epoch {epoch}", mininterval=0)
    for start in bar:
        loss = nn.functional.cross_entropy(
            model(tokens[start : start + 16]), labels[start : start + 16]
        )
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        total += loss.item()
        bar.set_postfix(loss=f"{loss.item():.3f}")
    accuracy = (model(tokens).argmax(-1) == labels).float().mean().item()
    print(f"epoch {epoch}: train loss {total / 12:.4f}, accuracy {accuracy:.3f}")
torch.save(model.state_dict(), "encoder.pt")
print("saved encoder.pt")
