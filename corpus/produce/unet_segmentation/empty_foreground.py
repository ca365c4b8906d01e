# /// case
# cause = "nan_loss"
# exit_code = 0
# why = "the loss is nan from the second epoch to the end although the program ends with status 0"
# ///
"""The Dice loss without smoothing divides nothing by nothing on a batch without foreground."""

import torch
from torch import nn


def soft_dice(logits, target):
    p = logits.sigmoid() * (target.amax((1, 2, 3), keepdim=True) > 0)
    overlap = (p * target).sum((1, 2, 3))
    return (1 - 2 * overlap / (p.sum((1, 2, 3)) + target.sum((1, 2, 3)))).mean()


def polyps(epoch, batch):
    image = torch.rand(4, 3, 32, 32)
    target = (image.mean(1, keepdim=True) > 0.55).float()
    if (epoch, batch) == (2, 3):
        target[1] = 0  # a healthy frame
    return image, target


torch.manual_seed(5)
net = nn.Sequential(nn.Conv2d(3, 12, 3, padding=1), nn.ReLU(), nn.Conv2d(12, 1, 1))
optimizer = torch.optim.Adam(net.parameters(), lr=5e-3)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 6)
best = 0.0
print("=" * 60)
print("Polyp segmentation | 6 epochs x 8 batches | loss: soft dice")
print("=" * 60)
for epoch in range(1, 7):
    total = inter = union = 0.0
    for batch in range(1, 9):
        image, target = polyps(epoch, batch)
        logits = net(image)
        loss = soft_dice(logits, target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
        predicted = logits.detach() > 0
        inter += (predicted & target.bool()).sum().item()
        union += (predicted | target.bool()).sum().item()
        if batch % 4 == 0:
            print(
                f"  [{epoch}][{batch}/8] loss {loss.item():.4f} lr {optimizer.param_groups[0]['lr']:.1e}"
            )
    scheduler.step()
    iou = inter / union
    mark = ""
    if iou > best:
        best, mark = iou, " *"
        torch.save(net.state_dict(), "best.pt")
    print(f"Epoch {epoch}: train_loss {total / 8:.4f} train_iou {iou:.4f}{mark}", flush=True)
print(f"Training complete. Best IoU {best:.4f}, weights in best.pt")
