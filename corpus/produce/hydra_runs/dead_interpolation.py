# /// case
# cause = "config"
# paper_class = "traceback"
# exit_code = 1
# ///
"""A value refers to a key that another config no longer has, and it is read in mid-run."""

import logging
from pathlib import Path

import hydra
from omegaconf import OmegaConf

Path("conf").mkdir(exist_ok=True)
Path("conf/config.yaml").write_text(
    "data:\n  seq_len: 128\n  batch: 8\ntrain:\n  epochs: 3\n  save_to: ${paths.output}/ckpt\n"
)
log = logging.getLogger(__name__)


@hydra.main(version_base="1.3", config_path="conf", config_name="config")
def main(cfg):
    log.info("config:\n%s", OmegaConf.to_yaml(cfg))
    for epoch in range(cfg.train.epochs):
        log.info("epoch %d loss %.4f", epoch, 2.0 / (epoch + 1))
    log.info("saving to %s", cfg.train.save_to)


if __name__ == "__main__":
    main()
