# /// case
# cause = "missing_module"
# paper_class = "missing_module"
# exit_code = 1
# ///
"""The modeling code that comes with a model imports a package that is not installed."""

import json
from pathlib import Path

from transformers import AutoModelForCausalLM

folder = Path("models/hybrid-1b")
folder.mkdir(parents=True)
(folder / "config.json").write_text(
    json.dumps(
        {
            "model_type": "hybrid",
            "auto_map": {
                "AutoConfig": "configuration_hybrid.HybridConfig",
                "AutoModelForCausalLM": "modeling_hybrid.HybridForCausalLM",
            },
        }
    )
)
(folder / "configuration_hybrid.py").write_text(
    "from transformers import PretrainedConfig\n\n\n"
    "class HybridConfig(PretrainedConfig):\n    model_type = 'hybrid'\n"
)
(folder / "modeling_hybrid.py").write_text(
    "from causal_conv1d import causal_conv1d_fn\n"
    "from mamba_ssm.ops.selective_scan_interface import selective_scan_fn\n"
    "from transformers import PreTrainedModel\n\n"
    "from .configuration_hybrid import HybridConfig\n\n\n"
    "class HybridForCausalLM(PreTrainedModel):\n    config_class = HybridConfig\n"
)
model = AutoModelForCausalLM.from_pretrained(str(folder), trust_remote_code=True)
