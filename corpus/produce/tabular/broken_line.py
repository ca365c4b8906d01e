# /// case
# cause = "data"
# paper_class = "traceback"
# exit_code = 1
# ///
"""The last line of a JSON Lines file was cut off."""

import json
import sys

from tqdm import tqdm


class Corpus:
    def __init__(self, path):
        self.path = path

    def __iter__(self):
        with open(self.path) as file:
            for number, line in enumerate(file, 1):
                try:
                    yield json.loads(line)
                except json.JSONDecodeError:
                    print(f"{self.path}:{number}: cannot decode this line", file=sys.stderr)
                    raise


records = [json.dumps({"prompt": f"What is {i}+{i}?", "answer": str(2 * i)}) for i in range(5000)]
with open("sft.jsonl", "w") as file:
    file.write("\n".join(records)[:-25])
lengths = []
for record in tqdm(Corpus("sft.jsonl"), desc="tokenizing", total=5000):
    lengths.append(len(record["prompt"]))
print("longest prompt:", max(lengths))
