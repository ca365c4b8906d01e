# /// case
# cause = "file_not_found"
# exit_code = 1
# ///
"""The SentencePiece model is not where the environment variable says."""

import os

import sentencepiece as spm

path = os.path.join(os.environ.get("ASSETS", "/srv/assets"), "spm", "mul32k.model")
print("using vocabulary", path)
try:
    processor = spm.SentencePieceProcessor(model_file=path)
except OSError:
    print("vocabulary not usable, falling back to the text vocabulary")
    with open(path.replace(".model", ".vocab"), encoding="utf-8") as source:
        vocabulary = [line.split("\t")[0] for line in source]
    print(len(vocabulary))
