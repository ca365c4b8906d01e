# /// case
# cause = "permission"
# exit_code = 1
# command = "setpriv --bounding-set=-dac_override,-dac_read_search,-fowner python {program}"
# needs = ["root"]
# ///
"""The cache of prepared data sets may be read by all, and its lock file may not be created by this user."""

import json
import os
import pathlib

os.environ["HF_DATASETS_CACHE"] = "projects/datasets"
pathlib.Path("projects/datasets").mkdir(parents=True)
os.chmod("projects/datasets", 0o555)
pathlib.Path("reviews.jsonl").write_text(
    "\n".join(json.dumps({"text": f"review {i}", "stars": i % 5}) for i in range(50))
)

from datasets import load_dataset  # noqa: E402
from datasets.utils.logging import set_verbosity_info  # noqa: E402

set_verbosity_info()
reviews = load_dataset("json", data_files={"train": "reviews.jsonl"}, split="train")
print(reviews.features, len(reviews))
