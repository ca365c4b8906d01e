# /// case
# cause = "dtype_mismatch"
# paper_class = "runtime_error"
# exit_code = 1
# ///
"""Known pixels are written into a float32 canvas from a prediction that autocast made bfloat16."""

import argparse
import copy

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--steps", type=int, default=60)
parser.add_argument("--ema-decay", type=float, default=0.99)
parser.add_argument("--sample-every", type=int, default=40)
args = parser.parse_args()
print(args)

torch.manual_seed(0)
torch.set_num_threads(1)
T = 50
alpha_bar = torch.cumprod(1 - torch.linspace(1e-4, 0.05, T), 0)
net = nn.Sequential(nn.Conv2d(2, 16, 3, padding=1), nn.SiLU(), nn.Conv2d(16, 1, 3, padding=1))
ema = copy.deepcopy(net).requires_grad_(False)
optimizer = torch.optim.AdamW(net.parameters(), lr=2e-3)


def predict(model, x, t):
    level = (t.float() / T)[:, None, None, None].expand_as(x)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        return model(torch.cat([x, level], 1))


def inpaint(model, image, hole):
    canvas = image.clone()
    canvas[hole] = torch.randn(int(hole.sum()))
    for step in reversed(range(T)):
        noise = predict(model, canvas, torch.full((len(image),), step))
        canvas[hole] = noise[hole]
    return canvas


for step in range(1, args.steps + 1):
    x0 = torch.rand(8, 1, 16, 16) * 2 - 1
    t = torch.randint(0, T, (8,))
    a = alpha_bar[t][:, None, None, None]
    noise = torch.randn_like(x0)
    prediction = predict(net, a.sqrt() * x0 + (1 - a).sqrt() * noise, t)
    loss = nn.functional.mse_loss(prediction.float(), noise)
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()
    for shadow, p in zip(ema.parameters(), net.parameters(), strict=True):
        shadow.lerp_(p.detach(), 1 - args.ema_decay)
    if step % 10 == 0:
        print(f"step {step:>5} | mse {loss.item():.4f} | ema_decay {args.ema_decay}", flush=True)
    if step % args.sample_every == 0:
        hole = torch.zeros(8, 1, 16, 16, dtype=torch.bool)
        hole[..., 4:12, 4:12] = True
        grid = inpaint(ema, x0, hole)
        print(f"sampled grid {tuple(grid.shape)} range [{grid.min():.2f}, {grid.max():.2f}]")
