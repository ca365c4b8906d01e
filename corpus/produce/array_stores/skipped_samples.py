# /// case
# cause = "none"
# exit_code = 0
# why = "undecodable samples are skipped with a warning as the handler says; the epoch ends"
# ///
"""Broken samples are skipped with warnings by the shard reader, and the epoch ends."""

import io
import json
import tarfile

import webdataset as wds


def add(tar, name, data):
    info = tarfile.TarInfo(name)
    info.size = len(data)
    tar.addfile(info, io.BytesIO(data))


with tarfile.open("shard-000.tar", "w") as tar:
    for i in range(30):
        text = json.dumps({"label": i % 3, "text": "x" * i})
        add(tar, f"{i:04d}.json", text.encode() if i % 11 else text.encode()[:7])

dataset = wds.WebDataset("shard-000.tar", shardshuffle=False)
dataset = dataset.decode(handler=wds.warn_and_continue).to_tuple("json")
labels = [sample["label"] for (sample,) in dataset]
print(f"epoch 0: {len(labels)} samples, label counts {[labels.count(c) for c in range(3)]}")
print("training complete")
