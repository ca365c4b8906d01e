# /// case
# cause = "config"
# paper_class = "traceback"
# exit_code = 1
# ///
"""A mandatory value of the configuration was left open."""

import logging
import sys

from omegaconf import OmegaConf

logging.basicConfig(
    level=logging.INFO, format="[%(asctime)s][%(name)s][%(levelname)s] - %(message)s"
)
log = logging.getLogger("src.train")

defaults = OmegaConf.create(
    {
        "task": "ner",
        "data": {"root": "???", "batch_size": 32, "num_workers": 4},
        "trainer": {"max_epochs": 10, "detect_anomaly": False, "resume_from_checkpoint": None},
    }
)
cfg = OmegaConf.merge(
    defaults, OmegaConf.from_dotlist(["data.batch_size=64", "trainer.max_epochs=3"])
)
log.info("configuration:\n%s", OmegaConf.to_yaml(cfg))
try:
    log.info("reading %s", cfg.data.root)
except Exception:
    log.critical("could not start the task %s", cfg.task, exc_info=True)
    sys.exit(1)
