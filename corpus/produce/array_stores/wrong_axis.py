# /// case
# cause = "shape_mismatch"
# paper_class = "traceback"
# exit_code = 1
# ///
"""Features of one more band are written into an HDF5 array that was made for fewer."""

import h5py
import numpy as np
from tqdm import tqdm

rng = np.random.default_rng(1)
with h5py.File("features.h5", "w") as file:
    features = file.create_dataset("features", shape=(400, 12), dtype="f4")
    for start in tqdm(range(0, 400, 50), desc="extracting", mininterval=0):
        scene = rng.normal(size=(50, 12 if start < 250 else 13))
        features[start : start + 50] = scene - scene.mean(0)
print("wrote 400 scenes")
