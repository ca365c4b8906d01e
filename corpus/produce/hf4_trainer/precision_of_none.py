# /// case
# cause = "div_zero"
# exit_code = 1
# environment = "hf4"
# ///
"""The classifier predicts one class only, and precision is divided by zero at evaluation."""

import numpy as np
from datasets import Dataset
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments


def compute_metrics(p):
    guess = np.argmax(p.predictions, axis=1)
    tp = int(((guess == 1) & (p.label_ids == 1)).sum())
    fp = int(((guess == 1) & (p.label_ids == 0)).sum())
    fn = int(((guess == 0) & (p.label_ids == 1)).sum())
    precision, recall = tp / (tp + fp), tp / (tp + fn)
    return {"precision": precision, "recall": recall}


config = BertConfig(vocab_size=32, hidden_size=32, num_hidden_layers=1, num_attention_heads=2)
data = Dataset.from_dict({"input_ids": [[1, 2, 3]] * 100, "labels": [1] + [0] * 99})
args = TrainingArguments(
    "fraud", num_train_epochs=2, eval_strategy="epoch", logging_steps=5, use_cpu=True,
    learning_rate=3e-3, report_to="none",
)  # fmt: skip
trainer = Trainer(
    BertForSequenceClassification(config),
    args,
    train_dataset=data,
    eval_dataset=data,
    compute_metrics=compute_metrics,
)
trainer.train()
