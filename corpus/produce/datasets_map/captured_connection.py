# /// case
# cause = "pickling"
# paper_class = "traceback"
# exit_code = 1
# ///
"""The map function holds a database connection and cannot be sent to the worker processes."""

import sqlite3

from datasets import Dataset


class CachedTokenizer:
    """Splits on blanks; the vocabulary is kept in a small database."""

    def __init__(self):
        self.db = sqlite3.connect("vocabulary.db")
        self.counts = {}

    def __call__(self, batch):
        ids = []
        for text in batch["text"]:
            ids.append([self.counts.setdefault(w, len(self.counts)) for w in text.split()])
        return {"input_ids": ids}


ds = Dataset.from_dict({"text": [f"sentence number {i}" for i in range(1000)]})
tokenizer = CachedTokenizer()
print("preprocessing with 4 processes")
ds = ds.map(tokenizer, batched=True, num_proc=4, desc="Tokenizing")
print(ds)
