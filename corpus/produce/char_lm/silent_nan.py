# /// case
# cause = "nan_loss"
# exit_code = 0
# why = "the loss is nan from iteration 60 on and nothing stops the program"
# ///
"""The learning rate is far too high; the loss is nan to the end, and the exit status is 0."""

import torch
from torch import nn

torch.manual_seed(0)
text = "all work and no play makes jack a dull boy. " * 40
chars = sorted(set(text))
data = torch.tensor([chars.index(c) for c in text])


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.fc = nn.Linear(width, 4 * width)
        self.proj = nn.Linear(4 * width, width)

    def forward(self, x):
        return x + self.proj(torch.relu(self.fc(x)).square())


embed = nn.Embedding(len(chars), 32)
model = nn.Sequential(embed, *[Block(32) for _ in range(4)], nn.Linear(32, len(chars)))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
for it in range(200):
    if it == 50:
        for group in optimizer.param_groups:
            group["lr"] = 40.0
    ix = torch.randint(len(data) - 1, (64,))
    loss = nn.functional.cross_entropy(model(data[ix]), data[ix + 1])
    optimizer.zero_grad()
    loss.backward()
    norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    if it % 10 == 0:
        print(
            f"iter {it:4d} | loss {loss.item():.4f} | grad norm {norm:.3f} | lr {group['lr'] if it >= 50 else 0.01}"
        )
torch.save(model.state_dict(), "ckpt.pt")
print("saved checkpoint to ckpt.pt")
