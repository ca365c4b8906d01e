# /// case
# cause = "host_oom"
# paper_class = "ram_oom"
# exit_code = 1
# ///
"""All distances between all pictures at once."""

import numpy as np

images = np.random.default_rng(7).integers(0, 255, size=(60000, 784), dtype=np.uint8)
labels = np.random.default_rng(8).integers(0, 10, size=60000)
print("images:", images.shape, images.dtype)
print("labels:", np.bincount(labels))
print("scaling pixels to 0..1")
small = images[:500] / 255.0
print("mean pixel of the first 500:", small.mean())
print("computing the distances (all pairs), please wait ...", flush=True)
difference = images[:, None, :] - images[None, :, :]
distance = np.sqrt((difference**2).sum(axis=2))
print(distance[:5, :5])
