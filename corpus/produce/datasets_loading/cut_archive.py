# /// case
# cause = "data"
# paper_class = "traceback"
# exit_code = 1
# environment = "hf4"
# ///
"""A gzip shard was copied only in part."""

import gzip
import json
import os

from datasets import load_dataset

for name in ("c4-0000.json.gz", "c4-0001.json.gz"):
    with gzip.open(name, "wt") as out:
        for i in range(4000):
            out.write(json.dumps({"text": f"line {i} of {name} " * 4, "n": i * 7919 % 1009}) + "\n")
os.truncate("c4-0001.json.gz", os.path.getsize("c4-0001.json.gz") // 2)

print({name: os.path.getsize(name) for name in sorted(os.listdir(".")) if name.endswith("gz")})
corpus = load_dataset("json", data_files=["c4-0000.json.gz", "c4-0001.json.gz"], split="train")
print(corpus)
