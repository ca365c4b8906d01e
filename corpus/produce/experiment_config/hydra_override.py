# /// case
# cause = "config"
# paper_class = "traceback"
# exit_code = 1
# command = "python {program} optim.lrr=0.1 +seed=3"
# ///
"""A key that is overridden on the command line is not in the configuration."""

from dataclasses import dataclass, field

import hydra
from hydra.core.config_store import ConfigStore


@dataclass
class Optim:
    name: str = "adam"
    lr: float = 1e-3


@dataclass
class Config:
    optim: Optim = field(default_factory=Optim)
    epochs: int = 5


ConfigStore.instance().store(name="config", node=Config)


@hydra.main(version_base=None, config_name="config")
def main(cfg: Config):
    print(cfg.optim.lr, cfg.epochs)


main()
