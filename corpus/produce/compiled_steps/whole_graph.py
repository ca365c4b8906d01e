# /// case
# cause = "compile_error"
# paper_class = "traceback"
# exit_code = 1
# why = "fullgraph=True allows no graph break; a branch on a tensor is one"
# ///
"""A data-dependent branch in a model that is compiled as one graph."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from tqdm import tqdm


@dataclass
class Settings:
    width: int = 48
    steps: int = 40
    skip_threshold: float = 0.2
    compile: bool = True


class EarlyExit(nn.Module):
    def __init__(self, cfg: Settings):
        super().__init__()
        self.cfg = cfg
        self.blocks = nn.ModuleList(nn.Linear(cfg.width, cfg.width) for _ in range(4))
        self.gate = nn.Linear(cfg.width, 1)

    def forward(self, x: Tensor) -> Tensor:
        for block in self.blocks:
            x = torch.relu(block(x))
            if self.gate(x).sigmoid().mean() < self.cfg.skip_threshold:
                break
        return x


def train(cfg: Settings) -> None:
    model = EarlyExit(cfg)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    if cfg.compile:
        model.compile(fullgraph=True)
    bar = tqdm(range(cfg.steps), desc="train", ncols=70, mininterval=0)
    for _ in bar:
        x = torch.randn(16, cfg.width)
        loss = (model(x) - x).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        bar.set_postfix(loss=f"{loss.item():.3f}")


if __name__ == "__main__":
    print(Settings())
    train(Settings())
