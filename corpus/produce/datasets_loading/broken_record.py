# /// case
# cause = "data"
# paper_class = "traceback"
# exit_code = 1
# ///
"""One line of the JSON lines file is cut in the middle."""

import json
import os

from datasets import load_dataset

os.makedirs("data", exist_ok=True)
with open("data/train.jsonl", "w") as out:
    for i in range(5000):
        line = json.dumps({"id": i, "prompt": f"What is {i} plus {i}?", "answer": str(2 * i)})
        out.write((line if i != 4321 else line[:37]) + "\n")

print("loading data/train.jsonl")
train = load_dataset("json", data_files={"train": "data/train.jsonl"}, split="train")
print(train)
