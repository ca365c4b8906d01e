# /// case
# cause = "dependency"
# paper_class = "traceback"
# exit_code = 1
# environment = "hf4"
# why = "the checkpoint is sound and of these very versions: torch changed the default of torch.load and this Trainer does not know"
# ///
"""Resuming fails at the random state: newer torch, older Trainer."""

import torch
import transformers
from datasets import Dataset
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments

print(f"transformers {transformers.__version__}, torch {torch.__version__}")
data = Dataset.from_dict({"input_ids": [[7] * 16] * 64, "labels": [[7] * 16] * 64})


def run(steps, resume=None):
    config = GPT2Config(vocab_size=60, n_embd=32, n_layer=2, n_head=2, n_positions=32)
    args = TrainingArguments(
        "clm", max_steps=steps, save_steps=5, logging_steps=5, report_to="none", use_cpu=True
    )
    Trainer(GPT2LMHeadModel(config), args, train_dataset=data).train(resume_from_checkpoint=resume)


run(5)
run(10, resume="clm/checkpoint-5")
