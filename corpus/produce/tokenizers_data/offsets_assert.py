# /// case
# cause = "assertion"
# exit_code = 1
# why = "the program's own check of its alignment logic fails; the data are as they should be"
# ///
"""The program's check that spans survive tokenization fails after a change of normalizer."""

from tokenizers import Tokenizer, models, normalizers, pre_tokenizers
from tqdm import tqdm

vocabulary = {w: i for i, w in enumerate(["<unk>", "the", "treaty", "of", "maastricht", "1992"])}
core = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
core.normalizer = normalizers.Lowercase()
core.pre_tokenizer = pre_tokenizers.Whitespace()


def spans(text):
    encoded = core.encode(text)
    end = 0
    for token, (start, stop) in zip(encoded.tokens, encoded.offsets, strict=True):
        assert token == text[start:stop]
        assert start >= end
        end = stop
    return encoded.offsets


texts = ["the treaty of 1992"] * 300 + ["the treaty of Maastricht"] + ["the treaty"] * 100
texts = [
    text.replace("Maastricht", "maastricht") if i % 2 else text for i, text in enumerate(texts)
]
out = [spans(text) for text in tqdm(texts, desc="aligning", mininterval=0.5)]
print(len(out))
