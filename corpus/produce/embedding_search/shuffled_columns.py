# /// case
# cause = "data"
# exit_code = 1
# paper_class = "traceback"
# why = "a line of the triples was cut in the middle, so it is no JSON"
# ///
"""The file of training triples has a line that was cut off."""

import json
import logging
import pathlib
import sys

from datasets import load_dataset
from datasets.utils.logging import disable_progress_bar

logging.basicConfig(level=logging.INFO, stream=sys.stderr)
disable_progress_bar()
rows = [json.dumps({"query": f"q{i}", "pos": f"p{i}", "neg": [f"n{i}"]}) for i in range(400)]
rows[233] = rows[233][:21]
pathlib.Path("triples.jsonl").write_text("\n".join(rows) + "\n")
logging.info("triples.jsonl: %d lines", len(rows))
data = load_dataset("json", data_files="triples.jsonl", split="train", cache_dir="cache")
logging.info("features %s", data.features)
