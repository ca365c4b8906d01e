# /// case
# cause = "config"
# paper_class = "traceback"
# exit_code = 1
# ///
"""The DeepSpeed JSON and the arguments of the Trainer contradict each other."""

import json

from datasets import Dataset
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments

with open("ds_config.json", "w") as out:
    json.dump(
        {
            "train_micro_batch_size_per_gpu": 4,
            "gradient_accumulation_steps": 8,
            "zero_optimization": {"stage": 2},
            "optimizer": {"type": "AdamW", "params": {"lr": 1e-5, "weight_decay": "auto"}},
            "bf16": {"enabled": "auto"},
        },
        out,
    )
args = TrainingArguments(
    "zero",
    per_device_train_batch_size=8,
    gradient_accumulation_steps=1,
    learning_rate=5e-5,
    deepspeed="ds_config.json",
    report_to="none",
)
model = GPT2LMHeadModel(GPT2Config(vocab_size=100, n_embd=32, n_layer=1, n_head=2, n_positions=32))
data = Dataset.from_dict({"input_ids": [[1, 2, 3]] * 32, "labels": [[1, 2, 3]] * 32})
Trainer(model, args, train_dataset=data).train()
