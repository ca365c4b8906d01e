# /// case
# cause = "traceback"
# exit_code = 1
# ///
"""After training, the prompt for sampling has a character that the table does not know."""

import torch
from torch import nn

corpus = "first citizen: before we proceed any further, hear me speak.\nall: speak, speak.\n" * 30
chars = sorted(set(corpus))
stoi = {c: i for i, c in enumerate(chars)}
itos = dict(enumerate(chars))
data = torch.tensor([stoi[c] for c in corpus])


def get_batch(size=32):
    ix = torch.randint(len(data) - 1, (size,))
    return data[ix], data[ix + 1]


def sample(table, prompt, length):
    ids = [stoi[c] for c in prompt]
    for _ in range(length):
        ids.append(torch.multinomial(table(torch.tensor(ids[-1:])).softmax(-1), 1).item())
    return "".join(itos[i] for i in ids)


torch.manual_seed(1337)
table = nn.Embedding(len(chars), len(chars))
optimizer = torch.optim.AdamW(table.parameters(), lr=0.05)
for it in range(300):
    x, y = get_batch()
    loss = nn.functional.cross_entropy(table(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if it % 50 == 0:
        print(f"iter {it}: loss {loss.item():.4f}, time 1.02ms, mfu -100.00%")
print(f"training finished, final loss {loss.item():.4f}")
for prompt in ("first", "O Romeo"):
    print("---------------")
    print(sample(table, prompt, 40))
