# /// case
# cause = "shape_mismatch"
# paper_class = "runtime_error"
# exit_code = 1
# ///
"""The generator grows to the next resolution; its moving average still has the old last layer."""

import logging

import torch
from torch import nn

logging.basicConfig(level=logging.INFO, format="[%(asctime)s] %(name)s %(levelname)s: %(message)s")
log = logging.getLogger("progan")
torch.manual_seed(3)


class Generator(nn.Module):
    def __init__(self, latent=24):
        super().__init__()
        self.stem = nn.Linear(latent, 64)
        self.to_pixels = nn.Linear(64, 8 * 8)

    def grow(self, side):
        log.info("fading in resolution %dx%d", side, side)
        self.to_pixels = nn.Linear(64, side * side)

    def forward(self, z):
        return torch.tanh(self.to_pixels(torch.relu(self.stem(z))))


class Ema:
    def __init__(self, model, decay):
        self.decay = decay
        self.shadow = {name: p.detach().clone() for name, p in model.named_parameters()}

    @torch.no_grad()
    def update(self, model):
        for name, p in model.named_parameters():
            self.shadow[name].mul_(self.decay).add_(p, alpha=1 - self.decay)


def critic(side):
    return nn.Sequential(nn.Linear(side * side, 48), nn.LeakyReLU(0.2), nn.Linear(48, 1))


generator, ema = Generator(), None
ema = Ema(generator, 0.995)
for phase, side in enumerate((8, 16)):
    if phase:
        generator.grow(side)
    judge = critic(side)
    g_opt = torch.optim.Adam(generator.parameters(), lr=1e-3, betas=(0.0, 0.99))
    d_opt = torch.optim.Adam(judge.parameters(), lr=1e-3, betas=(0.0, 0.99))
    for step in range(1, 41):
        real, z = torch.rand(16, side * side), torch.randn(16, 24)
        fake = generator(z)
        d_loss = (judge(fake.detach()) - judge(real)).mean()
        d_opt.zero_grad()
        d_loss.backward()
        d_opt.step()
        g_loss = -judge(fake).mean()
        g_opt.zero_grad()
        g_loss.backward()
        g_opt.step()
        ema.update(generator)
        if step % 10 == 0:
            log.info("phase=%d step=%d loss_d=%.4f loss_g=%.4f", phase, step, d_loss, g_loss)
