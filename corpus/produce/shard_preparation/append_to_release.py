# /// case
# cause = "permission"
# exit_code = 1
# command = "setpriv --bounding-set=-dac_override,-dac_read_search,-fowner python {program}"
# needs = ["root"]
# ///
"""The statistics are to be added to the released file of another group, which may only be read."""

import os

import h5py
import numpy as np
from tqdm import trange

RELEASE = "release-2.h5"
rng = np.random.default_rng(1)
with h5py.File(RELEASE, "w") as release:
    release["features"] = rng.normal(size=(4000, 16)).astype("float32")
    release.attrs["licence"] = "internal"
os.chmod(RELEASE, 0o444)

total = np.zeros(16)
square = np.zeros(16)
with h5py.File(RELEASE) as release:
    features = release["features"]
    for start in trange(0, len(features), 500, desc="statistics"):
        block = features[start : start + 500].astype("float64")
        total += block.sum(0)
        square += (block**2).sum(0)
mean = total / 4000
spread = np.sqrt(square / 4000 - mean**2)
print("mean", mean[:4].round(3), "std", spread[:4].round(3), flush=True)
with h5py.File(RELEASE, "a") as release:
    release.create_dataset("statistics/mean", data=mean)
    release.create_dataset("statistics/std", data=spread)
print("statistics added to", RELEASE)
