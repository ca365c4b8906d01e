# /// case
# cause = "permission"
# exit_code = 1
# command = "setpriv --bounding-set=-dac_override --inh-caps=-dac_override python {program}"
# needs = ["root"]
# ///
"""Statistics are written into a zarr store whose folder belongs to the archive's keepers."""

import os

import numpy as np
import zarr

root = zarr.create_group("corpus.zarr")
root.create_array("tokens", data=np.arange(1000), chunks=(100,))
os.chmod("corpus.zarr", 0o555)
tokens = root["tokens"][:]
print("tokens", tokens.shape, "mean", tokens.mean())
root.create_array("statistics", data=np.array([tokens.mean(), tokens.std()]))
print("statistics stored")
