# /// case
# cause = "dependency"
# paper_class = "traceback"
# exit_code = 1
# environment = "hf4"
# why = "the installed version is too old for this architecture"
# ///
"""A model of a newer architecture meets an older version of the library."""

import json
from pathlib import Path

import transformers
from transformers import AutoModelForCausalLM

folder = Path("models/Qwen3-0.6B")
folder.mkdir(parents=True)
config = {"architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3", "hidden_size": 64}
(folder / "config.json").write_text(json.dumps(config, indent=2))
print("transformers", transformers.__version__)
model = AutoModelForCausalLM.from_pretrained(folder)
