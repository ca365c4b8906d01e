# /// case
# cause = "dependency"
# paper_class = "traceback"
# exit_code = 1
# environment = "hf4"
# why = "the adapter's configuration was written by a newer PEFT; the installed one does not know its keys"
# ///
"""The configuration of the adapter was written by a newer version of PEFT."""

import json

import peft
from peft import LoraConfig, PeftModel, get_peft_model
from transformers import GPT2Config, GPT2LMHeadModel

base = GPT2LMHeadModel(GPT2Config(vocab_size=8, n_embd=32, n_layer=1, n_head=2, n_positions=64))
get_peft_model(base, LoraConfig(r=4, target_modules=["c_attn"])).save_pretrained("adapter")
with open("adapter/adapter_config.json") as source:
    settings = json.load(source)
settings |= {"corda_config": None, "eva_config": None, "lora_bias": False, "exclude_modules": None}
with open("adapter/adapter_config.json", "w") as out:
    json.dump(settings, out, indent=2)
print("peft", peft.__version__)
base = GPT2LMHeadModel(GPT2Config(vocab_size=8, n_embd=32, n_layer=1, n_head=2, n_positions=64))
print(PeftModel.from_pretrained(base, "adapter"))
