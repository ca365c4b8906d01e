# /// case
# cause = "data"
# paper_class = "traceback"
# exit_code = 1
# why = "the file is there but lacks the array that the reader names"
# ///
"""An HDF5 file has no dataset of the name that the reader asks for."""

import h5py
import numpy as np

for part, names in {
    "part0.h5": ("input_ids", "label"),
    "part1.h5": ("input_ids", "labels"),
}.items():
    with h5py.File(part, "w") as file:
        for name in names:
            file.create_dataset(f"train/{name}", data=np.arange(128))
for part in ("part0.h5", "part1.h5"):
    with h5py.File(part) as file:
        group = file["train"]
        print(f"{part}: {len(group['input_ids'])} sequences")
        print(f"{part}: positive share {np.mean(group['label'][:] > 50):.3f}")
