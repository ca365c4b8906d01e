# /// case
# cause = "network"
# paper_class = "traceback"
# exit_code = 1
# environment = "hf4"
# env = {HTTPS_PROXY = "http://127.0.0.1:9", https_proxy = "http://127.0.0.1:9"}
# ///
"""The proxy of the site is down."""

import argparse
import os

from datasets import load_dataset

parser = argparse.ArgumentParser()
parser.add_argument("--dataset", default="stanfordnlp/imdb")
parser.add_argument("--max_samples", type=int, default=2000)
args = parser.parse_args()
print("proxy:", os.environ["HTTPS_PROXY"])
train = load_dataset(args.dataset, split=f"train[:{args.max_samples}]")
print(train)
