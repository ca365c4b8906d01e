# /// case
# cause = "checkpoint"
# paper_class = "traceback"
# exit_code = 1
# environment = "hf4"
# why = "the weights were cut off by a broken copy"
# ///
"""A sharded folder of pickled weights, one of them cut off by an interrupted copy."""

import os

from transformers import GPT2Config, GPT2LMHeadModel

model = GPT2LMHeadModel(GPT2Config(vocab_size=400, n_embd=64, n_layer=3, n_head=2))
model.save_pretrained("gpt2-local", safe_serialization=False, max_shard_size="300KB")
shards = sorted(name for name in os.listdir("gpt2-local") if name.endswith(".bin"))
os.truncate(f"gpt2-local/{shards[1]}", 40_000)
for name in shards:
    print(f"{os.path.getsize(f'gpt2-local/{name}'):9,d} {name}")
model = GPT2LMHeadModel.from_pretrained("gpt2-local")
print(model.generate)
