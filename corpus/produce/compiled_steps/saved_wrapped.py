# /// case
# cause = "checkpoint"
# paper_class = "runtime_error"
# exit_code = 1
# why = "the checkpoint was saved from the compiled module and has its prefix in every key"
# ///
"""The state of a compiled model is loaded into the plain one for the evaluation."""

import logging
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn

logging.basicConfig(level=logging.INFO, format="%(asctime)s | %(message)s", datefmt="%H:%M:%S")
RUN = Path("runs/bag")


class Classifier(nn.Module):
    def __init__(self, vocab=500, dim=40, classes=5):
        super().__init__()
        self.embed = nn.EmbeddingBag(vocab, dim)
        self.hidden = nn.Linear(dim, 2 * dim)
        self.out = nn.Linear(dim, classes)

    def forward(self, ids):
        return self.out(F.glu(self.hidden(self.embed(ids))))


def batches(n, size=32):
    generator = torch.Generator().manual_seed(0)
    for _ in range(n):
        ids = torch.randint(0, 500, (size, 24), generator=generator)
        yield ids, ids[:, 0] % 5


def fit():
    model = torch.compile(Classifier(), backend="aot_eager")
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for i, (ids, labels) in enumerate(batches(40), 1):
        loss = F.cross_entropy(model(ids), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if i % 10 == 0:
            logging.info("iter %d loss %.4f", i, loss.item())
    RUN.mkdir(parents=True)
    torch.save(model.state_dict(), RUN / "final.pt")
    logging.info("saved %s", RUN / "final.pt")


@torch.no_grad()
def evaluate():
    model = Classifier().eval()
    model.load_state_dict(torch.load(RUN / "final.pt"))
    right = [(model(ids).argmax(1) == labels).float().mean().item() for ids, labels in batches(5)]
    logging.info("accuracy %.3f", sum(right) / len(right))


fit()
evaluate()
