# /// case
# cause = "file_not_found"
# exit_code = 1
# ///
"""The data files are named by a path that exists on another machine."""

import argparse
import logging

from datasets import load_dataset

logging.basicConfig(level=logging.INFO, format="%(levelname)s:%(name)s:%(message)s")

parser = argparse.ArgumentParser()
parser.add_argument("--train_file", default="/mnt/nas/corpora/dialogue_v3/train.json")
parser.add_argument("--validation_file", default="/mnt/nas/corpora/dialogue_v3/dev.json")
args = parser.parse_args()

logging.info("arguments: %s", vars(args))
files = {"train": args.train_file, "validation": args.validation_file}
raw = load_dataset("json", data_files=files, cache_dir="cache")
print(raw)
