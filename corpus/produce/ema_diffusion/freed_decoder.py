# /// case
# cause = "device_mismatch"
# exit_code = 1
# why = "the weights of the decoder are on the meta device, their moving average is on the CPU"
# ///
"""The decoder is moved away to save memory after the first stage, and the moving average still follows it."""

import torch
from torch import nn
from tqdm.auto import trange


class Latent(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Linear(48, 12)
        self.denoiser = nn.Sequential(nn.Linear(12, 64), nn.SiLU(), nn.Linear(64, 12))
        self.decoder = nn.Linear(12, 48)


class Averaged:
    def __init__(self, model, decay=0.9):
        self.decay = decay
        self.values = {name: value.clone() for name, value in model.state_dict().items()}

    @torch.no_grad()
    def follow(self, model):
        for name, value in model.state_dict().items():
            self.values[name] = torch.lerp(self.values[name], value, 1 - self.decay)


def autoencoder_stage(model, averaged, steps):
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    for _ in trange(steps, desc="stage 1", ncols=80):
        x = torch.randn(32, 48)
        loss = (model.decoder(model.encoder(x)) - x).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        averaged.follow(model)
    print(f"stage 1 done, reconstruction {loss.item():.4f}")


def diffusion_stage(model, averaged, steps):
    model.decoder.to("meta")
    optimizer = torch.optim.Adam(model.denoiser.parameters(), lr=2e-3)
    for step in range(steps):
        with torch.no_grad():
            z = model.encoder(torch.randn(32, 48))
        noise = torch.randn_like(z)
        loss = (model.denoiser(z + noise) - noise).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 10 == 0:
            print(f"stage 2 step {step} loss {loss.item():.4f}", flush=True)
        if step and step % 25 == 0:
            averaged.follow(model)


torch.manual_seed(0)
model = Latent()
averaged = Averaged(model)
autoencoder_stage(model, averaged, 80)
diffusion_stage(model, averaged, 200)
