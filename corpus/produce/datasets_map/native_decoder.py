# /// case
# cause = "segfault"
# paper_class = "segfault"
# exit_code = 1
# env = {PYTHONFAULTHANDLER = "1"}
# why = "the fault handler of the dead process shows the segmentation fault"
# ///
"""A native decoder crashes in one of the map processes."""

import ctypes

from datasets import Dataset

ds = Dataset.from_dict({"blob": [bytes([i % 256]) * 64 for i in range(600)]})


def decode(row, index):
    length = 64 if index != 420 else -1
    out = ctypes.create_string_buffer(64)
    ctypes.memmove(out, row["blob"], ctypes.c_size_t(length))
    return {"mean": sum(out.raw) / 64}


if __name__ == "__main__":
    ds = ds.map(decode, with_indices=True, num_proc=2, remove_columns="blob")
    print(ds)
