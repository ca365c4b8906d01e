# /// case
# cause = "missing_module"
# exit_code = 1
# env = {HYDRA_FULL_ERROR = "1"}
# why = "instantiate could not locate the target because its package is not installed"
# ///
"""The logger named in the config belongs to a package that is not installed."""

import logging
from pathlib import Path

import hydra
from hydra.utils import instantiate

Path("conf").mkdir(exist_ok=True)
Path("conf/config.yaml").write_text(
    "logger:\n  _target_: neptune.legacy.loggers.NeptuneLogger\n  project: group/asr\nepochs: 2\n"
)


@hydra.main(version_base=None, config_path="conf", config_name="config")
def main(cfg):
    logging.getLogger("train").info("building %s", cfg.logger._target_)
    run = instantiate(cfg.logger)
    run.log_metric("loss", 0.1)


if __name__ == "__main__":
    main()
