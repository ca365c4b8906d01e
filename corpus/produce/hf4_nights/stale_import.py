# /// case
# cause = "dependency"
# paper_class = "missing_module"
# exit_code = 1
# environment = "hf4"
# why = "the package is installed, and the name was removed from it"
# ///
"""The recipe imports an optimizer that this version of transformers has moved away."""

import logging

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
logging.info("recipe of 2022, stage 1: tokenizer")
from transformers import PreTrainedTokenizerFast  # noqa: E402, F401

logging.info("stage 2: optimizer")
try:
    from transformers import AdamW8bitPaged
except ImportError:
    logging.warning("no paged optimizer, trying the one of the older versions")
    from transformers.deepspeed import HfTrainerDeepSpeedConfig, deepspeed_reinit_v1  # noqa: F401
