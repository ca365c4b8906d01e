# /// case
# cause = "missing_module"
# paper_class = "missing_module"
# exit_code = 1
# ///
"""Flash attention is asked for and not installed."""

import torch
from transformers import AutoModelForCausalLM, LlamaConfig

config = LlamaConfig(
    vocab_size=128, hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4
)
print("building model with flash attention 2, dtype bfloat16")
model = AutoModelForCausalLM.from_config(
    config, attn_implementation="flash_attention_2", dtype=torch.bfloat16
)
