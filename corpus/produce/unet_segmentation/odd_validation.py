# /// case
# cause = "shape_mismatch"
# paper_class = "runtime_error"
# exit_code = 1
# ///
"""Training crops have even sides, the full validation pictures do not: the skip connection does not fit."""

import logging

import torch
from torch import nn
from torch.nn import functional as F

logging.basicConfig(
    format="[%(asctime)s] [%(levelname)s] %(name)s - %(message)s", level=logging.INFO
)
log = logging.getLogger("unet.train")


def block(i, o):
    return nn.Sequential(nn.Conv2d(i, o, 3, padding=1), nn.BatchNorm2d(o), nn.ReLU(inplace=True))


class UNet(nn.Module):
    def __init__(self, n_classes=3, width=8):
        super().__init__()
        self.enc1, self.enc2 = block(3, width), block(width, 2 * width)
        self.mid = block(2 * width, 4 * width)
        self.up2 = nn.ConvTranspose2d(4 * width, 2 * width, 2, stride=2)
        self.dec2 = block(4 * width, 2 * width)
        self.up1 = nn.ConvTranspose2d(2 * width, width, 2, stride=2)
        self.dec1 = block(2 * width, width)
        self.head = nn.Conv2d(width, n_classes, 1)

    def forward(self, x):
        s1 = self.enc1(x)
        s2 = self.enc2(F.max_pool2d(s1, 2))
        x = self.mid(F.max_pool2d(s2, 2))
        x = self.dec2(torch.cat([self.up2(x), s2], dim=1))
        return self.head(self.dec1(torch.cat([self.up1(x), s1], dim=1)))


def street_scene(height, width, n=4):
    image = torch.rand(n, 3, height, width)
    return image, (image.mean(1) * 3).long().clamp(max=2)


@torch.inference_mode()
def validate(model, sizes):
    model.eval()
    hits = total = 0
    for height, width in sizes:
        image, mask = street_scene(height, width, n=1)
        hits += (model(image).argmax(1) == mask).sum().item()
        total += mask.numel()
    return hits / total


torch.manual_seed(7)
model = UNet()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
log.info("UNet with %d parameters, crop 64x64", sum(p.numel() for p in model.parameters()))
for epoch in range(1, 4):
    model.train()
    for step in range(1, 11):
        image, mask = street_scene(64, 64)
        loss = F.cross_entropy(model(image), mask)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 5 == 0:
            log.info("epoch %d step %d/10 loss=%.4f", epoch, step, loss.item())
    accuracy = validate(model, [(128, 96), (120, 96), (94, 128)])
    log.info("epoch %d pixel_acc=%.4f", epoch, accuracy)
