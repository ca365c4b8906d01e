# /// case
# cause = "div_zero"
# exit_code = 1
# why = "the log does not say why the counter of the window is empty"
# ///
"""Throughput over a window that holds no samples, printed by a callback of the Trainer."""

import torch
from datasets import Dataset
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    Trainer,
    TrainerCallback,
    TrainingArguments,
)


class Throughput(TrainerCallback):
    def __init__(self):
        self.samples, self.spent = 0, 0.0

    def on_step_end(self, args, state, control, **kwargs):
        if state.global_step <= 6:
            self.samples += args.per_device_train_batch_size
            self.spent += 0.01

    def on_log(self, args, state, control, logs=None, **kwargs):
        logs["ms_per_sample"] = round(1000 * self.spent / self.samples, 2)
        self.samples, self.spent = 0, 0.0


rows = Dataset.from_dict(
    {"input_ids": torch.randint(0, 90, (96, 8)).tolist(), "labels": [i % 2 for i in range(96)]}
)
config = BertConfig(
    vocab_size=90, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32
)
arguments = TrainingArguments(
    output_dir="out",
    per_device_train_batch_size=8,
    logging_steps=3,
    max_steps=12,
    save_strategy="no",
    report_to=[],
    use_cpu=True,
)
trainer = Trainer(
    model=BertForSequenceClassification(config),
    args=arguments,
    train_dataset=rows,
    callbacks=[Throughput()],
)
trainer.train()
