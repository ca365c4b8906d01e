# /// case
# cause = "data"
# paper_class = "traceback"
# exit_code = 1
# ///
"""One of the books is not written in UTF-8."""

import glob
import os

import torch


def read_books(folder):
    for path in sorted(glob.glob(os.path.join(folder, "*.txt"))):
        with open(path, encoding="utf-8") as file:
            text = file.read()
        print(f"read {os.path.basename(path)}: {len(text):,} characters")
        yield text


def prepare():
    os.makedirs("books")
    for n, language in enumerate(["english", "french", "german"]):
        text = {
            "english": "It was a dark night. ",
            "french": "Où sont les forêts ? ",
            "german": "Über allen Gipfeln. ",
        }
        data = (text[language] * 400).encode("latin-1" if language == "german" else "utf-8")
        with open(f"books/{n}_{language}.txt", "wb") as file:
            file.write(data)


prepare()
corpus = "".join(read_books("books"))
stoi = {c: i for i, c in enumerate(sorted(set(corpus)))}
data = torch.tensor([stoi[c] for c in corpus])
print("vocab size", len(stoi), "tokens", len(data))
