# /// case
# cause = "file_not_found"
# exit_code = 1
# command = "python {program} hydra.job.chdir=true"
# ///
"""hydra changes into the run's folder, so the relative data path names nothing there."""

import logging
import os
from pathlib import Path

import hydra
import pandas as pd

Path("conf").mkdir(exist_ok=True)
Path("conf/config.yaml").write_text("data:\n  train: data/train.csv\n  label: y\n")
Path("data").mkdir(exist_ok=True)
Path("data/train.csv").write_text("x,y\n1,0\n2,1\n")
log = logging.getLogger(__name__)


@hydra.main(version_base=None, config_path="conf", config_name="config")
def main(cfg):
    log.info("working directory %s", os.path.relpath(os.getcwd(), hydra.utils.get_original_cwd()))
    frame = pd.read_csv(cfg.data.train)
    log.info("%d rows", len(frame))


if __name__ == "__main__":
    main()
