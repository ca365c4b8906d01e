# /// case
# cause = "none"
# exit_code = 0
# why = "nan stands for classes without pixels, errors are of pictures that were left out; the loss falls and the model is saved"
# ///
"""IoU is nan for classes that do not occur, damaged tiles are left out, and the training ends well."""

import logging
import sys
import traceback

import numpy as np
import torch
from PIL import Image, UnidentifiedImageError
from torch import nn

logging.basicConfig(
    stream=sys.stdout, level=logging.INFO, format="%(levelname)s:%(name)s:%(message)s"
)
log = logging.getLogger("disaster")
CLASSES = ["ground", "fire", "explosion_crater", "collapsed_building", "killed_vegetation"]


def make_tiles(n=12):
    rng = np.random.default_rng(0)
    for i in range(n):
        Image.fromarray(rng.integers(0, 255, (32, 32, 3), dtype=np.uint8)).save(f"tile_{i:02d}.png")
    with open("tile_04.png", "wb") as file:
        file.write(b"<html>502 Bad Gateway</html>")


def load(n=12):
    images = []
    for i in range(n):
        try:
            picture = Image.open(f"tile_{i:02d}.png").convert("RGB")
        except UnidentifiedImageError:
            log.error("tile_%02d.png is corrupt and will be ignored\n%s", i, traceback.format_exc())
            continue
        images.append(torch.from_numpy(np.asarray(picture).copy()).permute(2, 0, 1) / 255)
    return torch.stack(images)


def iou(predicted, mask):
    result = []
    for k in range(len(CLASSES)):
        both = ((predicted == k) & (mask == k)).sum()
        result.append((both / ((predicted == k) | (mask == k)).sum()).item())
    return result


make_tiles()
images = load()
masks = (images.mean(1) * 1.99).long()
torch.manual_seed(0)
net = nn.Sequential(nn.Conv2d(3, 16, 1), nn.ReLU(), nn.Conv2d(16, len(CLASSES), 1))
optimizer = torch.optim.Adam(net.parameters(), 0.02)
for epoch in range(1, 21):
    logits = net(images)
    loss = nn.functional.cross_entropy(logits, masks)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if epoch % 4 == 0:
        scores = iou(logits.argmax(1), masks)
        log.info("epoch %d loss %.4f mIoU %.4f", epoch, loss.item(), np.nanmean(scores))
        log.info("per class: %s", dict(zip(CLASSES, [round(s, 3) for s in scores])))
        if np.isnan(scores).any():
            log.warning("IoU is nan for %d classes (division 0/0)", int(np.isnan(scores).sum()))
try:
    torch.onnx.export(net, (images[:1],), "segmenter.onnx", dynamo=False)
except Exception as error:
    log.error("ONNX export failed, not needed here: %s: %s", type(error).__name__, error)
torch.save(net.state_dict(), "segmenter.pt")
log.info("1 of 12 tiles failed to load; model saved to segmenter.pt; done")
