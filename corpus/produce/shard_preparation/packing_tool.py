# /// case
# cause = "command_not_found"
# paper_class = "file_not_found"
# exit_code = 1
# why = "the file that is not found is the program that packs the shards"
# ///
"""The finished shard is to be packed by a program that is not installed."""

import json
import pathlib
import random
import subprocess

random.seed(4)
shards = pathlib.Path("shards")
shards.mkdir()


def write_shard(number, size=200):
    path = shards / f"{number:05d}.jsonl"
    with path.open("w") as out:
        for index in range(size):
            row = {"id": number * size + index, "input_ids": random.choices(range(1000), k=12)}
            out.write(json.dumps(row) + "\n")
    return path


def pack(path):
    print(f"packing {path} ({path.stat().st_size} bytes)", flush=True)
    subprocess.run(["lrzip", "-z", "-D", str(path)], check=True)
    return path.with_suffix(".jsonl.lrz")


packed = [pack(write_shard(number)) for number in range(4)]
with open("manifest.json", "w") as out:
    json.dump([str(path) for path in packed], out)
print(len(packed), "shards")
