# /// case
# cause = "permission"
# exit_code = 1
# command = "bash -c 'mkdir -m 555 outputs; exec setpriv --bounding-set=-dac_override --inh-caps=-dac_override python {program} seed=3'"
# needs = ["root"]
# ///
"""hydra may not make the run's folder below outputs/, which is read-only."""

import logging
from pathlib import Path

import hydra
from omegaconf import OmegaConf

Path("conf").mkdir(exist_ok=True)
Path("conf/config.yaml").write_text("seed: 1\nlr: 0.1\n")


@hydra.main(version_base=None, config_path="conf", config_name="config")
def main(cfg):
    logging.getLogger(__name__).info("config %s", OmegaConf.to_yaml(cfg))


if __name__ == "__main__":
    main()
