# /// case
# cause = "shape_mismatch"
# paper_class = "traceback"
# exit_code = 1
# why = "the sizes of the head do not fit the hidden state; dynamo only meets the error while it traces with fake tensors"
# ///
"""A wrong size inside a compiled model comes out as an error of dynamo."""

import torch
import torch.nn.functional as F
from torch import nn

torch.set_float32_matmul_precision("high")


class Classifier(nn.Module):
    def __init__(self, vocab=500, dim=40, classes=5):
        super().__init__()
        self.embed = nn.EmbeddingBag(vocab, dim)
        self.hidden = nn.Linear(dim, 2 * dim)
        self.glu = nn.GLU()
        self.out = nn.Linear(2 * dim, classes)

    def forward(self, ids):
        h = self.glu(self.hidden(self.embed(ids)))
        return self.out(h)


def batches(n, size=32):
    generator = torch.Generator().manual_seed(0)
    for _ in range(n):
        yield (
            torch.randint(0, 500, (size, 24), generator=generator),
            torch.randint(0, 5, (size,), generator=generator),
        )


model = Classifier()
print(model)
print(f"params: {sum(p.numel() for p in model.parameters()):,}")
fast = torch.compile(model)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.01)
for i, (ids, labels) in enumerate(batches(50)):
    logits = fast(ids)
    loss = F.cross_entropy(logits, labels)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    print(f"[{i:03d}] loss={loss.item():.4f}")
