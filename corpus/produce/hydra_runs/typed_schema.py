# /// case
# cause = "config"
# paper_class = "traceback"
# exit_code = 1
# command = "python {program} train.batch_size=8.5"
# ///
"""A structured config refuses a fraction as batch size."""

from dataclasses import dataclass, field

import hydra
from hydra.core.config_store import ConfigStore


@dataclass
class Train:
    batch_size: int = 32
    epochs: int = 5


@dataclass
class Config:
    train: Train = field(default_factory=Train)
    name: str = "baseline"


ConfigStore.instance().store(name="config", node=Config)


@hydra.main(version_base=None, config_name="config")
def main(cfg: Config):
    print(cfg.train.batch_size * cfg.train.epochs)


if __name__ == "__main__":
    main()
