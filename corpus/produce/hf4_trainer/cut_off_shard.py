# /// case
# cause = "checkpoint"
# paper_class = "traceback"
# exit_code = 1
# environment = "hf4"
# ///
"""The run before was killed while it saved: the latest checkpoint's weights are cut off."""

import logging
import os

from datasets import Dataset
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments
from transformers.trainer_utils import get_last_checkpoint

logging.basicConfig(
    level=logging.INFO, format="[%(levelname)s|%(name)s] %(asctime)s >> %(message)s"
)
logger = logging.getLogger("run_clm")


def trainer(steps):
    data = Dataset.from_dict({"input_ids": [[7] * 16] * 64, "labels": [[7] * 16] * 64})
    config = GPT2Config(vocab_size=60, n_embd=32, n_layer=2, n_head=2, n_positions=32)
    args = TrainingArguments(
        "clm", max_steps=steps, save_steps=4, logging_steps=2, report_to="none", use_cpu=True
    )
    return Trainer(GPT2LMHeadModel(config), args, train_dataset=data)


if not os.path.isdir("clm"):
    trainer(8).train()
    weights = "clm/checkpoint-8/model.safetensors"
    os.truncate(weights, os.path.getsize(weights) // 3)

last = get_last_checkpoint("clm")
logger.info(f"Checkpoint detected, resuming training at {last}.")
trainer(24).train(resume_from_checkpoint=last)
