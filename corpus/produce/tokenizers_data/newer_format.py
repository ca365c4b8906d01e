# /// case
# cause = "dependency"
# paper_class = "traceback"
# exit_code = 1
# environment = "hf4"
# why = "the file was written by a newer version, whose parts this one does not know; the missing protobuf is met only while that is handled"
# ///
"""A tokenizer file of a newer version has parts that the installed version does not know."""

import json
import os

import tokenizers
from tokenizers import Tokenizer, models
from transformers import AutoTokenizer

os.makedirs("tok")
core = Tokenizer(models.BPE(vocab={"a": 0, "b": 1, "ab": 2}, merges=[("a", "b")]))
core.save("tok/tokenizer.json")
with open("tok/tokenizer.json") as source:
    content = json.load(source)
content["version"] = "1.0"
content["pre_tokenizer"] = {"type": "FixedLength", "length": 3}
content["model"]["merges"] = [["a", "b"]]
with open("tok/tokenizer.json", "w") as out:
    json.dump(content, out)
with open("tok/tokenizer_config.json", "w") as out:
    json.dump({"tokenizer_class": "PreTrainedTokenizerFast"}, out)
print("tokenizers", tokenizers.__version__)
print(AutoTokenizer.from_pretrained("tok").tokenize("ababab"))
