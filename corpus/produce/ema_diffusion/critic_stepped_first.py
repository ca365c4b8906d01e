# /// case
# cause = "runtime_error"
# exit_code = 1
# why = "autograd misuse: the critic's weights are stepped between the generator's forward and backward pass"
# ///
"""The critic's optimizer steps before the generator's backward pass, which needs the old weights."""

import torch
from loguru import logger
from torch import nn

torch.manual_seed(0)
torch.autograd.set_detect_anomaly(True)


class Gan:
    def __init__(self, ratio):
        self.G = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 32))
        self.D = nn.Sequential(
            nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1)
        )
        self.g_opt = torch.optim.Adam(self.G.parameters(), lr=1e-4)
        self.d_opt = torch.optim.Adam(self.D.parameters(), lr=4e-4)
        self.ratio = ratio

    def critic_step(self, real):
        fake = self.G(torch.randn(len(real), 16)).detach()
        loss = torch.relu(1 - self.D(real)).mean() + torch.relu(1 + self.D(fake)).mean()
        self.d_opt.zero_grad()
        loss.backward()
        self.d_opt.step()
        return loss.item()

    def joint_step(self, real):
        fake = self.G(torch.randn(len(real), 16))
        scores = self.D(fake)
        d_loss = torch.relu(1 - self.D(real)).mean() + torch.relu(1 + self.D(fake.detach())).mean()
        g_loss = -scores.mean()
        self.d_opt.zero_grad()
        d_loss.backward()
        self.d_opt.step()
        self.g_opt.zero_grad()
        g_loss.backward()
        self.g_opt.step()
        return d_loss.item(), g_loss.item()


gan = Gan(ratio=5)
for iteration in range(1, 41):
    d = gan.critic_step(torch.randn(24, 32))
    if iteration % 10 == 0:
        logger.info("critic warm-up {}/40 hinge {:.4f}", iteration, d)
logger.info("critic is warm, training both")
for iteration in range(1, 200):
    d, g = gan.joint_step(torch.randn(24, 32))
    logger.info("iteration {} D {:.4f} G {:.4f}", iteration, d, g)
