# /// case
# cause = "none"
# exit_code = 0
# why = "keys missing and unexpected were warned of, a broken adapter was skipped, the merge was saved"
# ///
"""Missing adapter keys are warned of, a broken adapter is skipped, the merge is saved."""

import logging
import os

import torch
from peft import LoraConfig, PeftModel, get_peft_model
from transformers import LlamaConfig, LlamaForCausalLM

logging.basicConfig(level=logging.INFO, format="%(levelname)s %(message)s")
torch.manual_seed(0)
config = LlamaConfig(
    vocab_size=128, hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4
)
for name, targets in (("a", ["q_proj"]), ("b", ["q_proj", "v_proj"])):
    lora = LoraConfig(r=4, target_modules=targets, task_type="CAUSAL_LM")
    get_peft_model(LlamaForCausalLM(config), lora).save_pretrained(f"adapters/{name}")
os.makedirs("adapters/c")

from safetensors.torch import load_file, save_file  # noqa: E402

weights = load_file("adapters/b/adapter_model.safetensors")
weights.pop(next(iter(weights)))
save_file(weights, "adapters/b/adapter_model.safetensors", metadata={"format": "pt"})

model = LlamaForCausalLM(config)
merged = []
for name in sorted(os.listdir("adapters")):
    try:
        model = PeftModel.from_pretrained(model, f"adapters/{name}").merge_and_unload()
        merged.append(name)
    except Exception as error:
        logging.error("adapter %s cannot be loaded: %s", name, str(error).splitlines()[0])
model.save_pretrained("merged")
print(f"merged {merged}, skipped 1 broken adapter, wrote {sorted(os.listdir('merged'))}")
