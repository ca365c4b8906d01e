# /// case
# cause = "config"
# paper_class = "traceback"
# exit_code = 1
# environment = "hf4"
# why = "the argument names a split that the data set does not have"
# ///
"""--eval_split names a split that does not exist."""

import argparse
import json

from datasets import load_dataset

p = argparse.ArgumentParser()
p.add_argument("--train_split", default="train")
p.add_argument("--eval_split", default="validation")
a = p.parse_args()
with open("qa.json", "w") as f:
    json.dump([{"q": "1+1", "a": "2"}] * 20, f)
train = load_dataset(
    "json", data_files={"train": "qa.json", "test": "qa.json"}, split=a.train_split
)
print(train)
dev = load_dataset("json", data_files={"train": "qa.json", "test": "qa.json"}, split=a.eval_split)
print(dev)
