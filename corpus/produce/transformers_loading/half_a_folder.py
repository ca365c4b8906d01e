# /// case
# cause = "asset"
# paper_class = "file_not_found"
# exit_code = 1
# why = "a folder of a downloaded model lacks one of its shards: incomplete local model folder"
# ///
"""A shard of a downloaded model is not in the folder."""

import os

from transformers import AutoModelForCausalLM, LlamaConfig, LlamaForCausalLM

config = LlamaConfig(
    vocab_size=512,
    hidden_size=64,
    intermediate_size=128,
    num_hidden_layers=4,
    num_attention_heads=4,
)
LlamaForCausalLM(config).save_pretrained("models/llama-mini", max_shard_size="200KB")
shards = sorted(name for name in os.listdir("models/llama-mini") if name.endswith("safetensors"))
os.remove(f"models/llama-mini/{shards[2]}")

print("\n".join(sorted(os.listdir("models/llama-mini"))))
model = AutoModelForCausalLM.from_pretrained("models/llama-mini")
print(model)
