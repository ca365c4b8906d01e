# /// case
# cause = "config"
# paper_class = "traceback"
# exit_code = 1
# environment = "hf4"
# why = "an option must be set: trust_remote_code"
# ///
"""A model with code of its own in a job that has nobody to ask."""

import json
import sys
from pathlib import Path

from transformers import AutoConfig

folder = Path("models/custom-encoder")
folder.mkdir(parents=True)
config = {"model_type": "customenc", "auto_map": {"AutoConfig": "configuration_enc.EncConfig"}}
(folder / "config.json").write_text(json.dumps(config))
(folder / "configuration_enc.py").write_text(
    "from transformers import PretrainedConfig\n\n\nclass EncConfig(PretrainedConfig):\n    pass\n"
)
print("argv:", sys.argv[1:], "interactive:", sys.stdin.isatty())
print(AutoConfig.from_pretrained(str(folder)))
