# /// case
# cause = "config"
# paper_class = ""
# exit_code = 2
# command = "python {program} train.accumulate=3"
# why = "the program checks its options itself and leaves without a traceback"
# ///
"""The program's own check of its options fails: sizes do not divide."""

import logging
import sys
from pathlib import Path

import hydra

Path("conf").mkdir(exist_ok=True)
Path("conf/config.yaml").write_text(
    "defaults:\n  - _self_\n  - override hydra/job_logging: default\n"
    "train:\n  global_batch: 256\n  micro_batch: 16\n  accumulate: 4\n  workers: 4\n"
)
log = logging.getLogger("launch")


@hydra.main(version_base=None, config_path="conf", config_name="config")
def main(cfg):
    t = cfg.train
    made = t.micro_batch * t.accumulate * t.workers
    log.info("micro %d x accumulate %d x workers %d", t.micro_batch, t.accumulate, t.workers)
    if made != t.global_batch:
        log.error("global_batch=%d cannot be made: %d samples per step", t.global_batch, made)
        sys.exit(2)


if __name__ == "__main__":
    main()
