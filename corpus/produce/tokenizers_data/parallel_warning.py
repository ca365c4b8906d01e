# /// case
# cause = "none"
# exit_code = 0
# why = "warnings of fork, of overlong sequences and of an unknown token; the work ended well"
# ///
"""Fork warnings and overlong sequences; the data are written all the same."""

import warnings

from datasets import Dataset
from tokenizers import Tokenizer, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

corpus = [f"sentence {i} with some words that fail to be interesting" for i in range(400)]
core = Tokenizer(models.BPE(unk_token="<unk>"))
core.pre_tokenizer = pre_tokenizers.Whitespace()
core.train_from_iterator(corpus, trainers.BpeTrainer(vocab_size=200, special_tokens=["<unk>"]))
tokenizer = PreTrainedTokenizerFast(
    tokenizer_object=core, unk_token="<unk>", pad_token="<unk>", model_max_length=24
)
print(len(tokenizer(" ".join(corpus[:30]))["input_ids"]), "tokens in one document")
warnings.warn("CUDA initialization: no NVIDIA driver found, using CPU", stacklevel=1)
ds = Dataset.from_dict({"text": corpus})
ds = ds.map(lambda b: tokenizer(b["text"], truncation=True), batched=True, num_proc=2)
ds.save_to_disk("tokenized")
errors = sum(0 in ids for ids in ds["input_ids"])
print(f"error rate {errors / len(ds):.2%}, {len(ds)} rows, exit status 0")
