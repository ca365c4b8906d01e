# /// case
# cause = "div_zero"
# exit_code = 1
# environment = "hf4"
# ///
"""A document without letters makes a ratio of the quality filter divide by zero."""

from datasets import Dataset
from tqdm import tqdm

docs = Dataset.from_dict({"text": ["Some ordinary text."] * 250 + ["12345 67890"] + ["More."] * 50})


def quality(row):
    letters = sum(c.isalpha() for c in row["text"])
    upper = sum(c.isupper() for c in row["text"])
    return {"upper_ratio": upper / letters, "chars": len(row["text"])}


tqdm.write("computing quality signals")
docs = docs.map(quality)
print(docs.filter(lambda r: r["upper_ratio"] < 0.3))
