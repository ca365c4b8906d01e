# /// case
# cause = "disk_full"
# paper_class = "traceback"
# exit_code = 1
# ///
"""The volume of the last shard has no room."""

import os
import pathlib
import struct

out = pathlib.Path("tokens")
out.mkdir()
os.symlink("/dev/full", out / "shard_00003.bin")
for shard in range(5):
    path = out / f"shard_{shard:05d}.bin"
    with open(path, "wb") as file:
        file.write(struct.pack("<QQ", 0x1234, shard))
        for document in range(800):
            file.write(struct.pack("<64H", *([document % 50000] * 64)))
    print(f"wrote {path} with 800 documents", flush=True)
