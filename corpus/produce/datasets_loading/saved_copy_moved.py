# /// case
# cause = "file_not_found"
# exit_code = 1
# ///
"""The folder of a tokenized copy is not where the second stage looks for it."""

import datetime
import os

from datasets import Dataset, load_from_disk

STAGE1 = os.environ.get("STAGE1_DIR", "tokenized")
Dataset.from_dict({"input_ids": [[1, 2, 3]] * 100}).save_to_disk(STAGE1)
print(datetime.datetime.now().isoformat(timespec="seconds"), "stage 1 finished ->", STAGE1)

ds = load_from_disk(os.path.join(os.environ.get("DATA_ROOT", "/scratch/project_4711"), STAGE1))
print(ds)
