# /// case
# cause = "data"
# paper_class = "traceback"
# exit_code = 1
# environment = "hf4"
# why = "labels of different length cannot be batched"
# ///
"""Labels are not padded along with the inputs."""

from tokenizers import Tokenizer, models, pre_tokenizers
from torch.utils.data import DataLoader
from transformers import DataCollatorWithPadding, PreTrainedTokenizerFast

words = ["<unk>", "<pad>", *"one two three four five six".split()]
core = Tokenizer(models.WordLevel({w: i for i, w in enumerate(words)}, unk_token="<unk>"))
core.pre_tokenizer = pre_tokenizers.Whitespace()
tokenizer = PreTrainedTokenizerFast(tokenizer_object=core, unk_token="<unk>", pad_token="<pad>")
texts = ["one two three", "four five six"] * 10 + ["one two"]
rows = [{**tokenizer(t), "labels": tokenizer(t)["input_ids"]} for t in texts]
collate = DataCollatorWithPadding(tokenizer, return_tensors="pt")
for number, batch in enumerate(DataLoader(rows, batch_size=3, collate_fn=collate)):
    print(number, {k: tuple(v.shape) for k, v in batch.items()})
