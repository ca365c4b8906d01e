# /// case
# cause = "asset"
# paper_class = "traceback"
# exit_code = 1
# env = {HF_HUB_OFFLINE = "1", HF_DATASETS_OFFLINE = "1"}
# ///
"""A compute node without network, and the data set was never put into the cache."""

import os

from datasets import load_dataset
from transformers import set_seed

set_seed(11)
print("HF_HOME:", os.environ.get("HF_HOME", os.path.expanduser("~/.cache/huggingface")))
squad = load_dataset("rajpurkar/squad_v2", split="train[:1%]")
print(squad[0])
