# /// case
# cause = "config"
# paper_class = "traceback"
# exit_code = 1
# ///
"""Options of LoraConfig that exclude each other, read from a YAML file."""

import textwrap
from pathlib import Path

import yaml
from peft import LoraConfig, get_peft_model
from transformers import LlamaConfig, LlamaForCausalLM

Path("lora.yaml").write_text(
    textwrap.dedent("""\
    r: 8
    lora_alpha: 16
    target_modules: [q_proj, v_proj]
    layers_to_transform: [0, 1, 2, 3]
    layers_pattern: blocks
    task_type: CAUSAL_LM
    """)
)
settings = yaml.safe_load(Path("lora.yaml").read_text())
print(yaml.safe_dump(settings, sort_keys=False))
config = LlamaConfig(
    vocab_size=128, hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4
)
model = get_peft_model(LlamaForCausalLM(config), LoraConfig(**settings))
model.print_trainable_parameters()
