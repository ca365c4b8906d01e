# /// case
# cause = "data"
# paper_class = "traceback"
# exit_code = 1
# why = "the file with the training data is shorter than it says itself"
# ///
"""An HDF5 file is cut off, so h5py cannot open it."""

import os

import h5py
import numpy as np


def build(path):
    with h5py.File(path, "w") as file:
        file.create_dataset("images", data=np.zeros((200, 32, 32), "uint8"), chunks=(10, 32, 32))
    os.truncate(path, os.path.getsize(path) // 2)


build("faces.h5")
print("opening faces.h5,", os.path.getsize("faces.h5"), "bytes")
with h5py.File("faces.h5", "r") as file:
    print(file["images"].shape)
