# /// case
# cause = "none"
# exit_code = 0
# why = "warnings about hashes and process counts and a failed shard that was repeated; the result was saved"
# ///
"""Warnings of all kinds and a repeated shard, and in the end the data are saved."""

import logging
import threading

from datasets import Dataset, concatenate_datasets

logging.basicConfig(level=logging.INFO, format="[%(asctime)s][%(name)s][%(levelname)s] %(message)s")
log = logging.getLogger("prepare")
gate = threading.Lock()
tries = {}


def encode(batch, shard):
    with gate:
        tries[shard] = tries.get(shard, 0) + 1
    if shard == 2 and tries[shard] == 1:
        raise OSError(116, "Stale file handle", "/nfs/corpora/part-2")
    return {"n": [len(t) for t in batch["text"]]}


ds = Dataset.from_dict({"text": [f"text {i}" for i in range(30)]})
parts = []
for shard in range(4):
    part = ds.shard(4, shard)
    for attempt in (1, 2, 3):
        try:
            parts.append(part.map(encode, batched=True, fn_kwargs={"shard": shard}))
            break
        except OSError:
            log.exception("shard %d failed in attempt %d", shard, attempt)
full = concatenate_datasets(parts)
full = full.filter(lambda row: row["n"] > 5, num_proc=2)
full.save_to_disk("prepared")
log.info("prepared %d rows, 0 shards lost", len(full))
