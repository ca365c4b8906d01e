# /// case
# cause = "missing_module"
# paper_class = "missing_module"
# exit_code = 1
# ///
"""The base model is quantized with GPTQ, whose kernels are not installed."""

import json

from transformers import AutoModelForCausalLM, LlamaConfig, LlamaForCausalLM
from transformers.utils import logging

logging.set_verbosity_info()
config = LlamaConfig(
    vocab_size=128, hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4
)
LlamaForCausalLM(config).save_pretrained("Llama-tiny-GPTQ")
with open("Llama-tiny-GPTQ/config.json") as source:
    settings = json.load(source)
settings["quantization_config"] = {"quant_method": "gptq", "bits": 4, "group_size": 32}
with open("Llama-tiny-GPTQ/config.json", "w") as out:
    json.dump(settings, out)
model = AutoModelForCausalLM.from_pretrained("Llama-tiny-GPTQ")
print(model)
