# /// case
# cause = "data"
# paper_class = "traceback"
# exit_code = 1
# why = "the script expects other columns than the file has"
# ///
"""The preprocessing expects the columns of another task."""

import logging

from datasets import Dataset
from rich.logging import RichHandler

logging.basicConfig(level="INFO", format="%(message)s", handlers=[RichHandler()])
log = logging.getLogger("run_glue")

TASK_TO_KEYS = {"mrpc": ("sentence1", "sentence2"), "qnli": ("question", "sentence")}


def main(task="mrpc"):
    left, right = TASK_TO_KEYS[task]
    raw = Dataset.from_dict(
        {"premise": ["A man inspects a uniform."] * 64, "hypothesis": ["He sleeps."] * 64,
         "label": [2] * 64}
    )  # fmt: skip
    log.info("columns %s", raw.column_names)

    def preprocess(batch):
        return {"n": [len(a) + len(b) for a, b in zip(batch[left], batch[right], strict=True)]}

    encoded = raw.map(preprocess, batched=True, desc="Running tokenizer on dataset")
    log.info("first row: %s", encoded[0])


main()
