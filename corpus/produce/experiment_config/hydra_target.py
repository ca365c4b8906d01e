# /// case
# cause = "config"
# paper_class = "traceback"
# exit_code = 1
# command = "python {program} optimizer._target_=torch.optim.AdamWW hydra.run.dir=outputs/run1"
# ///
"""The class that the configuration names does not exist in torch.optim."""

import logging

import hydra
import torch
from hydra.core.config_store import ConfigStore

log = logging.getLogger(__name__)
ConfigStore.instance().store(
    name="config",
    node={
        "model": {"_target_": "torch.nn.Linear", "in_features": 8, "out_features": 2},
        "optimizer": {"_target_": "torch.optim.AdamW", "lr": 0.001},
    },
)


@hydra.main(version_base=None, config_name="config")
def main(cfg):
    torch.manual_seed(0)
    model = hydra.utils.instantiate(cfg.model)
    log.info("instantiated model %s", model)
    optimizer = hydra.utils.instantiate(cfg.optimizer, params=model.parameters())
    log.info("instantiated optimizer %s", optimizer)


main()
