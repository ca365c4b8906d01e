# /// case
# cause = "data"
# paper_class = "traceback"
# exit_code = 1
# environment = "hf4"
# why = "empty texts are dropped from one column only, so that columns do not fit each other"
# ///
"""Empty texts are dropped in the batch function, their labels are not."""

import random

from datasets import Dataset

random.seed(2)
ds = Dataset.from_dict(
    {
        "text": ["" if i % 157 == 150 else f"sentence {i} of the corpus" for i in range(3000)],
        "label": [random.randint(0, 1) for _ in range(3000)],
    }
)


def encode(batch):
    texts = [t for t in batch["text"] if t.strip()]
    return {"input_ids": [[len(w) for w in t.split()] for t in texts], "label": batch["label"]}


encoded = ds.map(encode, batched=True, batch_size=100, remove_columns=["text"])
print(encoded)
