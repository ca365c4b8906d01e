# /// case
# cause = "network"
# paper_class = "traceback"
# exit_code = 1
# environment = "hf4"
# ///
"""The mirror from which the loader downloads does not accept connections."""

import logging

from datasets import DownloadConfig, DownloadManager, load_dataset

logging.basicConfig(level=logging.DEBUG, format="%(asctime)s %(levelname)-8s %(name)s: %(message)s")
for name in ("fsspec", "filelock", "asyncio"):
    logging.getLogger(name).setLevel(logging.WARNING)

MIRROR = "http://127.0.0.1:9/open-corpora"
manager = DownloadManager(download_config=DownloadConfig(max_retries=2, use_etag=False))
files = manager.download({"train": f"{MIRROR}/train.jsonl", "dev": f"{MIRROR}/dev.jsonl"})
raw = load_dataset("json", data_files=files)
print(raw)
