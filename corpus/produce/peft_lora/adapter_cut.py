# /// case
# cause = "checkpoint"
# paper_class = "traceback"
# exit_code = 1
# ///
"""The adapter's weights are an empty file since the disk quota episode."""

import logging

from peft import LoraConfig, PeftModel, get_peft_model
from transformers import OPTConfig, OPTForCausalLM

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s: %(message)s")
config = OPTConfig(
    vocab_size=100, hidden_size=32, ffn_dim=64, num_hidden_layers=2, num_attention_heads=2,
    word_embed_proj_dim=32, max_position_embeddings=64,
)  # fmt: skip
model = get_peft_model(OPTForCausalLM(config), LoraConfig(r=4, task_type="CAUSAL_LM"))
model.save_pretrained("out/adapter")
open("out/adapter/adapter_model.safetensors", "w").close()

logging.info("loading adapter from out/adapter")
PeftModel.from_pretrained(OPTForCausalLM(config), "out/adapter")
