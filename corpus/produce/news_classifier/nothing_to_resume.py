# /// case
# cause = "checkpoint"
# exit_code = 1
# paper_class = "traceback"
# ///
"""Both checkpoints are damaged."""

import sys
import traceback

import torch
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments

LABELS = ["world", "sports", "business", "science"]


class Headlines(torch.utils.data.Dataset):
    def __init__(self, n=96, seed=0):
        rng = torch.Generator().manual_seed(seed)
        self.y = torch.randint(0, len(LABELS), (n,), generator=rng)
        self.x = torch.randint(4, 60, (n, 16), generator=rng) + self.y.unsqueeze(1) * 60

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return {"input_ids": self.x[i], "labels": self.y[i]}


def tiny_model(labels=len(LABELS)):
    config = BertConfig(
        vocab_size=320,
        hidden_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=64,
        num_labels=labels,
    )
    return BertForSequenceClassification(config)


def arguments(**changes):
    settings = {
        "output_dir": "out",
        "per_device_train_batch_size": 16,
        "num_train_epochs": 2,
        "logging_steps": 3,
        "report_to": "none",
        "save_strategy": "no",
        "disable_tqdm": True,
        "learning_rate": 5e-3,
        "use_cpu": True,
    }
    return TrainingArguments(**{**settings, **changes})


import os

settings = {"save_strategy": "steps", "save_steps": 4, "max_steps": 8}
Trainer(model=tiny_model(), args=arguments(**settings), train_dataset=Headlines()).train()
for step in (4, 8):
    os.truncate(f"out/checkpoint-{step}/model.safetensors", 100)
trainer = Trainer(model=tiny_model(), args=arguments(**settings), train_dataset=Headlines())
for folder in ("out/checkpoint-8", "out/checkpoint-4"):
    try:
        trainer.train(resume_from_checkpoint=folder)
        break
    except Exception:
        traceback.print_exc()
        print(f"could not resume from {folder}")
        if folder.endswith("-4"):
            raise
