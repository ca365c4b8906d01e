# /// case
# cause = "runtime_error"
# exit_code = 1
# environment = "hf4"
# why = "a map process left and nothing says how or why"
# ///
"""One of the map processes is gone from one moment to the next."""

import os

from datasets import Dataset

ds = Dataset.from_dict({"path": [f"clip_{i:05d}.wav" for i in range(4000)]})


def decode(row, index):
    if index == 2718:
        os._exit(9)
    return {"seconds": (index * 37 % 101) / 10}


if __name__ == "__main__":
    clips = ds.map(decode, with_indices=True, num_proc=3, desc="Decoding")
    print(clips)
