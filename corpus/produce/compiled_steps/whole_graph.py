# /// case
# cause = "compile_error"
# paper_class = "traceback"
# exit_code = 1
# why = "fullgraph=True allows no graph break; the call of a function that is excluded from compilation is one"
# ///
"""A monitor that is excluded from compilation is called in a model that is compiled as one graph."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from tqdm import tqdm


@dataclass
class Settings:
    width: int = 48
    steps: int = 40
    compile: bool = True


@torch.compiler.disable
def record_activity(store: list, x: Tensor) -> None:
    store.append(float((x > 0).float().mean()))


class Monitored(nn.Module):
    def __init__(self, cfg: Settings):
        super().__init__()
        self.blocks = nn.ModuleList(nn.Linear(cfg.width, cfg.width) for _ in range(4))
        self.activity: list[float] = []

    def forward(self, x: Tensor) -> Tensor:
        for block in self.blocks:
            x = torch.relu(block(x))
            record_activity(self.activity, x)
        return x


def train(cfg: Settings) -> None:
    model = Monitored(cfg)
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
