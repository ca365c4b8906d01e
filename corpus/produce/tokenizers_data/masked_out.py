# /// case
# cause = "nan_loss"
# exit_code = 1
# environment = "hf4"
# why = "every label of a batch is masked, the mean over nothing is NaN and the guard ends the run"
# ///
"""A batch has only masked labels and its loss is NaN; the training stops itself."""

import logging
import sys

import torch
from transformers import GPT2Config, GPT2LMHeadModel

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s: %(message)s")
log = logging.getLogger("sft")
torch.manual_seed(0)
model = GPT2LMHeadModel(GPT2Config(vocab_size=64, n_embd=32, n_layer=1, n_head=2, n_positions=32))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for step in range(1, 101):
    ids = torch.randint(2, 64, (4, 16))
    prompt = 8 if step != 43 else 16
    labels = ids.masked_fill(torch.arange(16)[None] < prompt, -100)
    loss = model(input_ids=ids, labels=labels).loss
    if torch.isnan(loss):
        log.error("Loss is NaN at step %d, aborting", step)
        sys.exit(1)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    if step % 10 == 0:
        log.info("step %d/100 loss=%.4f", step, loss.item())
