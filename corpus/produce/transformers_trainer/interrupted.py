# /// case
# cause = "cancelled"
# paper_class = "traceback"
# exit_code = -2
# stop = {signal = "INT", when = "30/400"}
# ///
"""Ctrl-C in the middle of a run."""

import time

import torch
from datasets import Dataset
from transformers import (
    GPT2Config,
    GPT2LMHeadModel,
    Trainer,
    TrainerCallback,
    TrainingArguments,
)

torch.set_num_threads(1)


class Pace(TrainerCallback):
    """Keeps the CPU of a shared machine usable."""

    def on_step_end(self, args, state, control, **kwargs):
        time.sleep(0.02)


rows = torch.randint(0, 100, (200, 16)).tolist()
data = Dataset.from_dict({"input_ids": rows, "labels": rows})
model = GPT2LMHeadModel(GPT2Config(vocab_size=100, n_embd=32, n_layer=1, n_head=2, n_positions=32))
args = TrainingArguments(
    "gpt2-small-run", max_steps=400, logging_steps=10, save_strategy="no", report_to="none"
)
Trainer(model, args, train_dataset=data, callbacks=[Pace()]).train()
