# /// case
# cause = "data"
# paper_class = "traceback"
# exit_code = 1
# environment = "hf4"
# why = "the filter leaves no example: an empty set"
# ///
"""The generator yields nothing because no file passes the length filter."""

import os

from datasets import Dataset

os.makedirs("txt")
for i in range(20):
    with open(f"txt/{i}.txt", "w") as out:
        out.write("short text " * (i + 1))


def documents(folder, min_chars):
    kept = 0
    for name in sorted(os.listdir(folder)):
        text = open(os.path.join(folder, name)).read()
        if len(text) >= min_chars:
            kept += 1
            yield {"text": text, "name": name}
    print(f"kept {kept} of {len(os.listdir(folder))} documents")


ds = Dataset.from_generator(documents, gen_kwargs={"folder": "txt", "min_chars": 2000})
print(ds)
