# /// case
# cause = "config"
# paper_class = "traceback"
# exit_code = 1
# why = "a special token was added and the embedding table was not resized: sizes that do not fit each other"
# ///
"""A pad token was added to the tokenizer, the embeddings were not resized."""

import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

words = ["the", "cat", "sat", "on", "mat", "a", "dog", "ran", "home", "<unk>"]
core = Tokenizer(models.WordLevel({w: i for i, w in enumerate(words)}, unk_token="<unk>"))
core.pre_tokenizer = pre_tokenizers.Whitespace()
tokenizer = PreTrainedTokenizerFast(tokenizer_object=core, unk_token="<unk>")
tokenizer.add_special_tokens({"pad_token": "<pad>"})
model = GPT2LMHeadModel(GPT2Config(vocab_size=10, n_embd=16, n_layer=1, n_head=2, n_positions=16))
optimizer = torch.optim.AdamW(model.parameters())
print(f"tokenizer: {len(tokenizer)} tokens, model: {model.config.vocab_size} embeddings")

texts = ["the cat sat", "a dog ran", "the dog sat", "a cat ran"] * 6 + ["the cat sat on the mat"]
for start in range(0, len(texts), 4):
    batch = tokenizer(texts[start : start + 4] + texts[-1:], padding=True, return_tensors="pt")
    loss = model(input_ids=batch["input_ids"], labels=batch["input_ids"]).loss
    loss.backward()
    optimizer.step()
    print(start, loss.item())
