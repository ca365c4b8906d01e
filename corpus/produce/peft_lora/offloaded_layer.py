# /// case
# cause = "device_mismatch"
# exit_code = 1
# why = "part of the model is on another device than its inputs (meta)"
# ///
"""Layers that were left on the meta device meet inputs on the CPU."""

import torch
from accelerate import init_empty_weights
from peft import LoraConfig, get_peft_model
from transformers import LlamaConfig, LlamaForCausalLM

config = LlamaConfig(
    vocab_size=128, hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4
)
model = LlamaForCausalLM(config)
with init_empty_weights():
    spare = LlamaForCausalLM(config)
model.model.layers[1] = spare.model.layers[1]
model = get_peft_model(model, LoraConfig(r=4, target_modules=["q_proj"], task_type="CAUSAL_LM"))
for name in ("model.embed_tokens", "model.layers.1", "lm_head"):
    part = model.base_model.model.get_submodule(name)
    print(f"{name:20s} {next(part.parameters()).device}")
ids = torch.randint(0, 128, (2, 12))
print("loss", model(input_ids=ids, labels=ids).loss)
