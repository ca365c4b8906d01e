# /// case
# cause = "cuda_environment"
# paper_class = "assertion"
# exit_code = 1
# ///
"""The device map sends a model to a GPU that this build of torch cannot use."""

import logging

from transformers import AutoModelForCausalLM, GPT2Config, GPT2LMHeadModel

logging.basicConfig(level=logging.INFO)
GPT2LMHeadModel(
    GPT2Config(vocab_size=100, n_embd=32, n_layer=2, n_head=2, n_positions=32)
).save_pretrained("gpt2-mini")
logging.info("loading gpt2-mini onto cuda:0")
model = AutoModelForCausalLM.from_pretrained("gpt2-mini", device_map={"": "cuda:0"})
logging.info("placed: %s", model.hf_device_map)
