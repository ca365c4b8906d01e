# /// case
# cause = "nan_loss"
# exit_code = 1
# why = "the range check of the loss fails because the probabilities are nan, as the lines before show"
# ///
"""The probabilities become nan, and the next loss says that they are outside 0 and 1."""

import torch
from torch import nn

torch.manual_seed(4)
generator = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))
critic = nn.Sequential(nn.Linear(2, 16), nn.ReLU(), nn.Linear(16, 1))
opt_g = torch.optim.SGD(generator.parameters(), lr=0.05)
opt_d = torch.optim.SGD(critic.parameters(), lr=0.05)
bce = nn.functional.binary_cross_entropy


def noise_scale(step):
    return 1.0 if step < 40 else 10.0 ** (step - 35)


for step in range(100):
    fake = generator(torch.randn(32, 4) * noise_scale(step))
    real = torch.randn(32, 2)
    p_real, p_fake = torch.sigmoid(critic(real)), torch.sigmoid(critic(fake.detach()))
    loss_d = bce(p_real, torch.ones_like(p_real)) + bce(p_fake, torch.zeros_like(p_fake))
    opt_d.zero_grad()
    (loss_d * noise_scale(step)).backward()
    norm = nn.utils.clip_grad_norm_(critic.parameters(), 1e30)
    opt_d.step()
    if step % 3 == 0 or not torch.isfinite(norm):
        print(f"[{step:03d}/100] D loss: {loss_d.item():.4f}  D grad: {norm:.3g}", end="  ")
    p_fake = torch.sigmoid(critic(fake))
    loss_g = bce(p_fake, torch.ones_like(p_fake))
    opt_g.zero_grad()
    loss_g.backward()
    opt_g.step()
    if step % 3 == 0:
        print(f"G loss: {loss_g.item():.4f}  |fake| {fake.abs().mean():.3g}")
