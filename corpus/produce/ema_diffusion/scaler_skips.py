# /// case
# cause = "none"
# exit_code = 0
# why = "the scaler skips its first steps as it should, a broken sample grid is only a warning, and all epochs are done"
# ///
"""A GAN under a gradient scaler that starts too high: steps are skipped, a grid fails to save, the run ends well."""

import traceback
import warnings

import torch
from torch import nn

torch.manual_seed(7)
G = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 16))
D = nn.Sequential(nn.Linear(16, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1))
opt_g = torch.optim.Adam(G.parameters(), lr=2e-4, betas=(0.5, 0.999))
opt_d = torch.optim.Adam(D.parameters(), lr=2e-4, betas=(0.5, 0.999))
schedule = torch.optim.lr_scheduler.ExponentialLR(opt_d, 0.98)
scaler = torch.amp.GradScaler("cpu", init_scale=2.0**127, growth_interval=25)
bce = nn.BCEWithLogitsLoss()
history = []


def save_grid(images, path):
    with open(path, "wb") as file:
        file.write(images.to(torch.uint8).numpy().tobytes())


for epoch in range(8):
    for _ in range(12):
        real = torch.randn(32, 16) * 0.5 + 1
        with torch.autocast("cpu", dtype=torch.bfloat16):
            fake = G(torch.randn(32, 8))
            d_loss = bce(D(real), torch.ones(32, 1)) + bce(D(fake.detach()), torch.zeros(32, 1))
        opt_d.zero_grad()
        scaler.scale(d_loss * 4).backward()
        scaler.step(opt_d)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            g_loss = bce(D(fake), torch.ones(32, 1))
        opt_g.zero_grad()
        scaler.scale(g_loss * 4).backward()
        scaler.step(opt_g)
        before = scaler.get_scale()
        scaler.update()
        if scaler.get_scale() < before:
            print(
                f"found inf in gradients, scale {before:.3g} -> {scaler.get_scale():.3g}, step skipped"
            )
    schedule.step()
    history.append((d_loss.item(), g_loss.item()))
    print(
        f"epoch {epoch} loss_D {d_loss.item():.4f} loss_G {g_loss.item():.4f} D(x) nan-count 0",
        flush=True,
    )
    if d_loss.item() < 0.05:
        warnings.warn("discriminator loss near zero: possible mode collapse", stacklevel=1)
    try:
        save_grid(
            fake.detach().float() * 40 + 100,
            f"grids/epoch{epoch}.raw" if epoch == 2 else f"grid{epoch}.raw",
        )
    except OSError:
        print("WARNING: could not write the sample grid, training continues")
        traceback.print_exc()
torch.save({"G": G.state_dict(), "D": D.state_dict()}, "gan_final.pt")
print(f"training complete: {len(history)} epochs, saved gan_final.pt")
