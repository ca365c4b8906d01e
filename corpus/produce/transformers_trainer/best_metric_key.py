# /// case
# cause = "config"
# paper_class = "traceback"
# exit_code = 1
# why = "the setting names a metric that the metric function does not return"
# ///
"""The metric that chooses the best model is not among those that evaluation returns."""

import numpy as np
from datasets import Dataset
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments


def compute_metrics(eval_pred):
    logits, labels = eval_pred
    return {"accuracy": float((np.argmax(logits, -1) == labels).mean())}


def split(n):
    return Dataset.from_dict(
        {"input_ids": [[1, i % 30, 2] for i in range(n)], "labels": [i % 2 for i in range(n)]}
    )


config = BertConfig(vocab_size=32, hidden_size=32, num_hidden_layers=1, num_attention_heads=2)
args = TrainingArguments(
    "runs/mrpc",
    num_train_epochs=3,
    eval_strategy="epoch",
    save_strategy="epoch",
    logging_strategy="epoch",
    load_best_model_at_end=True,
    metric_for_best_model="f1",
    report_to="none",
)
trainer = Trainer(
    BertForSequenceClassification(config),
    args,
    train_dataset=split(96),
    eval_dataset=split(32),
    compute_metrics=compute_metrics,
)
trainer.train()
