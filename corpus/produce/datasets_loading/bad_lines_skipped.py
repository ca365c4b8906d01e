# /// case
# cause = "none"
# exit_code = 0
# why = "malformed lines were skipped with warnings and an unreadable shard was left out on purpose"
# ///
"""Bad lines are skipped with warnings, an unreadable shard is left out, and the work is done."""

import logging

from datasets import concatenate_datasets, load_dataset
from datasets.exceptions import DatasetGenerationError

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
for shard in range(3):
    with open(f"part{shard}.csv", "w") as out:
        out.write("id,text\n")
        for i in range(80):
            out.write(f"{i},word{i}\n" if i % 33 else f"{i},word,{i},corrupt\n")
with open("part3.csv", "wb") as out:
    out.write(b"id,text\n1,caf\xe9 cr\xe8me\n")

parts = []
for shard in range(4):
    try:
        one = load_dataset("csv", data_files=f"part{shard}.csv", split="train", on_bad_lines="warn")
    except DatasetGenerationError as error:
        logging.warning("part%d.csv left out: %r caused by %r", shard, error, error.__cause__)
        continue
    parts.append(one)
full = concatenate_datasets(parts)
full.to_parquet("clean.parquet")
logging.info("wrote %d rows of %d shards to clean.parquet (1 failed)", len(full), len(parts))
