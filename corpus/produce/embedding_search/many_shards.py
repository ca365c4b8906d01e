# /// case
# cause = "too_many_files"
# exit_code = 1
# paper_class = "traceback"
# ///
"""Each shard of the vectors is mapped and stays open; the limit of the shell is low."""

import pathlib
import resource

import numpy as np

resource.setrlimit(resource.RLIMIT_NOFILE, (96, 96))
folder = pathlib.Path("vectors")
folder.mkdir()
for number in range(128):
    (folder / f"part-{number:05d}.f16").write_bytes(np.full(64, number, np.float16).tobytes())

shards = sorted(folder.glob("*.f16"))
print("merging", len(shards), "shards")
handles = []
for number, shard in enumerate(shards):
    handle = open(shard, "rb")
    handles.append(handle)
    if number % 16 == 0:
        print(f"  opened {number:3d}: {shard.name}")
merged = np.concatenate([np.fromfile(handle, np.float16) for handle in handles])
print("merged", merged.shape)
