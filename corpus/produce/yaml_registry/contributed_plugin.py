# /// case
# cause = "missing_module"
# exit_code = 1
# why = "the optimizer is unknown to the registry because the plugin that brings it could not be imported, as the warning above says"
# ///
"""A plugin of the configuration is not installed and only warned of; its optimizer is missing later."""

import importlib
import logging
from dataclasses import dataclass, field

import torch
import yaml

logging.basicConfig(
    level=logging.INFO, format="%(asctime)s | %(name)-14s | %(levelname)-7s | %(message)s"
)
log = logging.getLogger("workbench")

YAML = """
plugins: [json, workbench_contrib.sophia]
optimizer: SophiaG
lr: 0.002
steps: 30
"""


@dataclass
class Settings:
    optimizer: str
    lr: float
    steps: int
    plugins: list[str] = field(default_factory=list)


class Registry(dict):
    def __init__(self, kind):
        super().__init__()
        self.kind = kind

    def __missing__(self, name):
        raise KeyError(f"{name} is not in the {self.kind} registry, choose from {sorted(self)}")


OPTIMIZERS = Registry("optimizer")
OPTIMIZERS.update(adamw=torch.optim.AdamW, sgd=torch.optim.SGD, rprop=torch.optim.Rprop)


def load_plugins(names):
    for name in names:
        try:
            importlib.import_module(name)
        except ImportError as error:
            logging.getLogger("workbench.plugin").warning("skipping plugin %s: %s", name, error)
        else:
            log.info("plugin %s loaded", name)


settings = Settings(**yaml.safe_load(YAML))
log.info("settings %s", settings)
load_plugins(settings.plugins)
model = torch.nn.Linear(6, 1)
log.info("model has %d parameters", sum(p.numel() for p in model.parameters()))
optimizer = OPTIMIZERS[settings.optimizer](model.parameters(), lr=settings.lr)
for step in range(settings.steps):
    loss = model(torch.randn(8, 6)).square().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
