# /// case
# cause = "pickling"
# paper_class = "runtime_error"
# exit_code = 1
# why = "the start method is spawn and the script has no main guard"
# timeout_s = 60
# ///
"""The spawn start method in a script without the main guard."""

import multiprocess
from datasets import Dataset

multiprocess.set_start_method("spawn")


def add_length(row):
    return {"length": len(row["text"])}


ds = Dataset.from_dict({"text": [f"sentence number {i}" for i in range(200)]})
ds = ds.map(add_length, num_proc=2)
print(ds[0])
