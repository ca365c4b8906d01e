# /// case
# cause = "permission"
# paper_class = "permission"
# exit_code = 1
# command = "setpriv --reuid 65534 --clear-groups python {program}"
# needs = ["root"]
# ///
"""hydra may not make its outputs folder, since the job runs as another user."""

import logging

import hydra
from omegaconf import OmegaConf


@hydra.main(version_base=None, config_path=None)
def main(cfg):
    logging.getLogger(__name__).info("config %s", OmegaConf.to_yaml(cfg))


if __name__ == "__main__":
    main()
