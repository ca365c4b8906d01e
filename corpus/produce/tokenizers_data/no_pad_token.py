# /// case
# cause = "config"
# paper_class = "traceback"
# exit_code = 1
# why = "the tokenizer was set up without a padding token"
# ///
"""Padding is asked of a tokenizer without a padding token."""

from tokenizers import Tokenizer, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

corpus = ["the quick brown fox", "jumps over", "the lazy dog again and again"] * 20
core = Tokenizer(models.BPE(unk_token="<unk>"))
core.pre_tokenizer = pre_tokenizers.Whitespace()
core.train_from_iterator(corpus, trainers.BpeTrainer(vocab_size=80, special_tokens=["<unk>"]))
tokenizer = PreTrainedTokenizerFast(tokenizer_object=core, unk_token="<unk>")
print(f"vocabulary of {len(tokenizer)} tokens")
for start in range(0, len(corpus), 8):
    batch = tokenizer(corpus[start : start + 8], padding=True, truncation=True, max_length=16)
    print(start, len(batch["input_ids"]))
