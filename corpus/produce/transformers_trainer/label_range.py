# /// case
# cause = "data"
# paper_class = "traceback"
# exit_code = 1
# why = "a rare sixth class in the labels, the head has five; seen on the CPU"
# ///
"""A rare label value beyond the classifier's classes turns up in the middle of an epoch."""

import random

from datasets import Dataset
from transformers import DistilBertConfig, DistilBertForSequenceClassification
from transformers import Trainer, TrainingArguments

random.seed(3)
stars = [random.randint(1, 5) for _ in range(400)]
labels = [s - 1 for s in stars]
labels[287] = 5
reviews = Dataset.from_dict(
    {"input_ids": [[random.randrange(50) for _ in range(12)] for _ in stars], "labels": labels}
)
print(reviews)

config = DistilBertConfig(vocab_size=50, dim=32, hidden_dim=64, n_layers=1, n_heads=2, num_labels=5)
trainer = Trainer(
    DistilBertForSequenceClassification(config),
    TrainingArguments(
        "out", per_device_train_batch_size=8, logging_steps=5, report_to="none", seed=1
    ),
    train_dataset=reviews,
)
trainer.train()
