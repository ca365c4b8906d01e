# /// case
# cause = "missing_module"
# paper_class = "missing_module"
# exit_code = 1
# environment = "hf4"
# ///
"""A sentencepiece tokenizer in an environment without sentencepiece."""

import logging

from transformers import AutoConfig, T5Config
from transformers import T5Tokenizer as Tokenizer

logging.basicConfig(level=logging.DEBUG)
T5Config(d_model=32).save_pretrained("t5")
print(AutoConfig.from_pretrained("t5").model_type)
tokenizer = Tokenizer.from_pretrained("t5")
print(tokenizer("translate English to German: hello").input_ids)
