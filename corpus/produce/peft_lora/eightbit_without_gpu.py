# /// case
# cause = "missing_module"
# paper_class = "missing_module"
# exit_code = 1
# environment = "hf4"
# ///
"""A QLoRA recipe in an environment without bitsandbytes."""

import torch
from peft import prepare_model_for_kbit_training
from transformers import AutoModelForCausalLM, BitsAndBytesConfig, GPT2Config, GPT2LMHeadModel

GPT2LMHeadModel(GPT2Config(vocab_size=100, n_embd=32, n_layer=2, n_head=2)).save_pretrained("base")
quant = BitsAndBytesConfig(
    load_in_4bit=True, bnb_4bit_quant_type="nf4", bnb_4bit_compute_dtype=torch.bfloat16
)
print("loading base model in 4 bit")
model = AutoModelForCausalLM.from_pretrained("base", quantization_config=quant, device_map="auto")
model = prepare_model_for_kbit_training(model)
