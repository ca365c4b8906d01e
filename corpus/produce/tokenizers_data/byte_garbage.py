# /// case
# cause = "data"
# paper_class = "traceback"
# exit_code = 1
# ///
"""A file of the training corpus is not UTF-8."""

import logging
from pathlib import Path

from tokenizers import Tokenizer, models, pre_tokenizers, trainers

logging.basicConfig(level=logging.INFO, format="%(asctime)s [train_tokenizer] %(message)s")
folder = Path("corpus")
folder.mkdir()
for i in range(6):
    (folder / f"{i:02d}.txt").write_text("ein kleiner satz mit umlauten: äöü\n" * 50)
(folder / "04.txt").write_bytes("Übergrößenträger\n".encode("latin-1") * 50)


def lines():
    for file in sorted(folder.glob("*.txt")):
        logging.info("reading %s", file)
        with open(file, encoding="utf-8") as source:
            yield from source


core = Tokenizer(models.BPE(unk_token="<unk>"))
core.pre_tokenizer = pre_tokenizers.ByteLevel()
core.train_from_iterator(lines(), trainers.BpeTrainer(vocab_size=500, show_progress=False))
core.save("tokenizer.json")
