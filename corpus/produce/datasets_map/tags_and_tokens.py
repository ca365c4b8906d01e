# /// case
# cause = "data"
# paper_class = "assertion"
# exit_code = 1
# why = "the assertion checks the records: one has more words than tags"
# ///
"""One sentence of the tagged corpus has fewer tags than words."""

from datasets import Dataset

rows = [{"tokens": ["EU", "rejects", "call"], "ner_tags": [3, 0, 0]} for _ in range(90)]
rows[61] = {"tokens": ["Peter", "B-", "lackburn", "said"], "ner_tags": [1, 2, 0]}
conll = Dataset.from_list(rows)
vocabulary = {}


def align(row, index):
    tokens, tags = row["tokens"], row["ner_tags"]
    assert len(tokens) == len(tags), f"row {index}: {len(tokens)} tokens but {len(tags)} tags"
    ids = [vocabulary.setdefault(t, len(vocabulary)) for t in tokens]
    return {"input_ids": ids, "labels": tags}


conll = conll.map(align, with_indices=True, desc="Aligning labels")
print(conll)
