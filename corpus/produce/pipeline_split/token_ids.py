# /// case
# cause = "device_mismatch"
# exit_code = 1
# why = "planned with fake tensors; ids on the CPU meet a table on the card"
# ///
"""The ids of the tokens were not moved to the device of the embedding."""

import logging

import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from transformers import GPT2Config, GPT2LMHeadModel

logging.basicConfig(level=logging.INFO, format="[%(asctime)s][%(levelname)s] - %(message)s")
log = logging.getLogger("planner")
config = GPT2Config(n_layer=2, n_head=4, n_embd=64, vocab_size=512, n_positions=128)
with FakeTensorMode(allow_non_fake_inputs=True):
    with torch.device("cuda"):
        model = GPT2LMHeadModel(config)
    log.info("model %s on %s", model.num_parameters(), model.device)
    for batch, length in ((4, 64), (8, 128)):
        ids = torch.randint(0, 512, (batch, length), device="cpu")
        log.info("batch %s", tuple(ids.shape))
        out = model(input_ids=ids, labels=ids)
        log.info("loss %s", out.loss)
