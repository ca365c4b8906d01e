# /// case
# cause = "network"
# paper_class = "traceback"
# exit_code = 1
# environment = "hf4"
# env = {HF_ENDPOINT = "https://hf-mirror.corp.invalid"}
# ///
"""The name of the mirror cannot be resolved; the shards are tried one after the other."""

import sys

from huggingface_hub import hf_hub_download
from tqdm import tqdm

failed = []
for shard in tqdm([f"data/train-{i:05d}-of-00002.parquet" for i in range(2)]):
    for attempt in range(1, 2):
        try:
            hf_hub_download("acme/pretraining-mix", shard, repo_type="dataset")
        except Exception as error:
            cause = error.__cause__ or error
            print(f"{shard} attempt {attempt}: {type(error).__name__}: {cause}", file=sys.stderr)
        else:
            break
    else:
        failed.append(shard)
if failed:
    sys.exit(f"giving up: {len(failed)} of 2 shards could not be downloaded")
