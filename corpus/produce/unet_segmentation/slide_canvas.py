# /// case
# cause = "host_oom"
# exit_code = 1
# why = "the allocator of host memory says that it cannot allocate"
# ///
"""The logits of a whole slide are put together on one canvas that does not fit into the job's memory."""

import resource

import torch
from loguru import logger
from torch import nn

LIMIT = 6 << 30


class Stitcher:
    """Averages the logits of overlapping tiles."""

    def __init__(self, height, width, n_classes):
        self.sum = torch.zeros(n_classes, height, width)
        self.hits = torch.zeros(1, height, width)

    def add(self, y, x, logits):
        _, h, w = logits.shape
        self.sum[:, y : y + h, x : x + w] += logits
        self.hits[:, y : y + h, x : x + w] += 1

    def labels(self):
        return (self.sum / self.hits.clamp(min=1)).argmax(0)


def segment(model, height, width, tile=256, stride=192):
    canvas = Stitcher(height, width, 7)
    n = 0
    for y in range(0, height - tile + 1, stride):
        for x in range(0, width - tile + 1, stride):
            with torch.no_grad():
                canvas.add(y, x, model(torch.rand(1, 3, tile, tile))[0])
            n += 1
            if n >= 12:  # background tiles are left out
                return canvas.labels()
    return canvas.labels()


def main():
    resource.setrlimit(resource.RLIMIT_AS, (LIMIT, LIMIT))
    torch.set_num_threads(1)
    model = nn.Conv2d(3, 7, 3, padding=1)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    for epoch in range(1, 4):
        x = torch.rand(2, 3, 128, 128)
        loss = nn.functional.cross_entropy(model(x), (x.mean(1) * 7).long())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        logger.info("epoch {} | train loss {:.4f}", epoch, loss.item())
    for name, level in (("S-0113", 1200), ("S-0114", 2400), ("S-0207", 24000)):
        logger.info("slide {} at {}x{} pixels", name, level, level)
        labels = segment(model, level, level)
        logger.success("slide {}: {} pixels of tumour", name, int((labels == 3).sum()))


with logger.catch(reraise=True):
    main()
