# /// case
# cause = "config"
# paper_class = "traceback"
# exit_code = 1
# command = "torchrun --standalone --nproc-per-node 2 {program}"
# why = "the job file itself cannot be parsed"
# ///
"""The job file lacks a closing bracket."""

import logging
import os
import sys
import tomllib
from pathlib import Path

import torch
from torch.distributed.elastic.multiprocessing.errors import record

logger = logging.getLogger()

Path("train_configs").mkdir(exist_ok=True)
JOB_FILE = Path("train_configs/llama3_8b.toml")
if os.environ["RANK"] == "0" or not JOB_FILE.exists():
    JOB_FILE.write_text(
        "# torchtitan Config.toml\n\n[job]\ndump_folder = './outputs'\n\n[optimizer]\nname = 'AdamW'\nlr = 3e-4\n"
        "\n[activation_checkpoint\nmode = 'selective'\nselective_ac_option = 'op'\n"
    )


def init_logger():
    logger.setLevel(logging.INFO)
    handler = logging.StreamHandler(sys.stdout)
    handler.setFormatter(
        logging.Formatter("[titan] %(asctime)s - %(name)s - %(levelname)s - %(message)s")
    )
    logger.addHandler(handler)


class ConfigManager:
    def __init__(self, path):
        self.path = path

    def parse(self):
        try:
            with open(self.path, "rb") as f:
                return tomllib.load(f)
        except (FileNotFoundError, tomllib.TOMLDecodeError) as e:
            logger.exception(f"Error while loading config file: {self.path}")
            raise e


@record
def main():
    init_logger()
    logger.info("Process group is not initialized yet, torch %s", torch.__version__)
    config = ConfigManager(JOB_FILE).parse()
    logger.info("Starting job in %s", config["job"]["dump_folder"])


if __name__ == "__main__":
    main()
