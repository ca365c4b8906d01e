# /// case
# cause = "shape_mismatch"
# paper_class = "traceback"
# exit_code = 1
# ///
"""Features of one more band are written into an array that was made for fewer."""

import numpy as np
import zarr
from tqdm import tqdm

features = zarr.create_array("features.zarr", shape=(400, 12), chunks=(50, 12), dtype="f4")
rng = np.random.default_rng(1)
for start in tqdm(range(0, 400, 50), desc="extracting", mininterval=0):
    scene = rng.normal(size=(50, 12 if start < 250 else 13))
    features[start : start + 50] = scene - scene.mean(0)
print("wrote", features.shape)
