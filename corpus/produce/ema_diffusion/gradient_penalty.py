# /// case
# cause = "nan_loss"
# exit_code = 0
# why = "exit 0, but from epoch 3 on both losses are nan and the saved generator is worthless"
# ///
"""The gradient penalty takes a root of zero; both losses are nan from then on, and the program goes on to its end."""

import sys

import torch
from torch import nn
from tqdm import tqdm

torch.manual_seed(1)
G = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 2))
D = nn.Sequential(nn.Linear(2, 32), nn.ReLU(), nn.Linear(32, 1))
opt_g = torch.optim.RMSprop(G.parameters(), lr=5e-4)
opt_d = torch.optim.RMSprop(D.parameters(), lr=5e-4)


def penalty(real, fake):
    mix = torch.rand(len(real), 1)
    points = (mix * real + (1 - mix) * fake).requires_grad_()
    (slope,) = torch.autograd.grad(D(points).sum(), points, create_graph=True)
    return ((slope.square().sum(1)).sqrt() - 1).square().mean()


def fid(real, fake):
    return (real.mean(0) - fake.mean(0)).square().sum().item()


for epoch in range(1, 7):
    bar = tqdm(range(20), desc=f"Epoch {epoch}/6", ncols=96, file=sys.stderr, mininterval=0.5)
    for i in bar:
        real = torch.randn(32, 2) * 0.3 + 1
        if epoch == 3 and i == 11:
            with torch.no_grad():
                D[0].bias.fill_(-50.0)
        fake = G(torch.randn(32, 8))
        loss_d = D(fake.detach()).mean() - D(real).mean() + 10 * penalty(real, fake.detach())
        opt_d.zero_grad()
        loss_d.backward()
        opt_d.step()
        loss_g = -D(fake).mean()
        opt_g.zero_grad()
        loss_g.backward()
        opt_g.step()
        bar.set_postfix(d=f"{loss_d.item():.3f}", g=f"{loss_g.item():.3f}")
    with torch.no_grad():
        score = fid(torch.randn(256, 2) * 0.3 + 1, G(torch.randn(256, 8)))
    print(
        f"[epoch {epoch}] Loss_D: {loss_d.item():.4f} Loss_G: {loss_g.item():.4f} FID: {score:.3f}",
        flush=True,
    )
    torch.save(G.state_dict(), f"generator_{epoch:03d}.pt")
print("Done. Best generator: generator_002.pt")
