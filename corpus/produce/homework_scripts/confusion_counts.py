# /// case
# cause = "div_zero"
# exit_code = 1
# ///
"""The precision of a class that the model never predicts."""

import torch
from torch import nn

torch.manual_seed(3)
names = ["cat", "dog", "bird"]
x = torch.randn(300, 4)
y = (x[:, 0] > 0).long()
y[::40] = 2
net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
opt = torch.optim.SGD(net.parameters(), lr=0.2)
for epoch in range(10):
    loss = nn.functional.cross_entropy(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    print("Epoch", epoch + 1, "/ 10  Loss:", round(loss.item(), 4))
print("----- evaluation -----")
table = [[0] * 3 for _ in range(3)]
for real, guess in zip(y.tolist(), net(x).argmax(1).tolist(), strict=True):
    table[real][guess] += 1
print("      ", *names)
for name, row in zip(names, table, strict=True):
    print(name.ljust(6), *row)
for i, name in enumerate(names):
    hits = table[i][i]
    recall = hits / sum(table[i])
    precision = hits / sum(table[j][i] for j in range(3))
    print(name, "precision", round(precision, 3), "recall", round(recall, 3))
