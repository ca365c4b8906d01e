# /// case
# cause = "data"
# paper_class = "traceback"
# exit_code = 1
# ///
"""The second shard has another column than the first."""

import json
from pathlib import Path

from datasets import load_dataset

folder = Path("shards")
folder.mkdir()
for shard in range(4):
    rows = [{"instruction": f"do {i}", "output": "done", "lang": "en"} for i in range(50)]
    if shard == 2:
        rows = [{"instruction": r["instruction"], "output": "ok", "score": 0.5} for r in rows]
    text = "\n".join(json.dumps(row) for row in rows)
    (folder / f"part-{shard:03d}.jsonl").write_text(text)

ds = load_dataset("json", data_files="shards/*.jsonl", split="train")
print(len(ds), "examples")
