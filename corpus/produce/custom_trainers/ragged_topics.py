# /// case
# cause = "data"
# paper_class = "traceback"
# exit_code = 1
# environment = "hf4"
# why = "one record has a topic vector of another length, so that the batch cannot be made"
# ///
"""The custom collator makes a tensor of multi-label vectors, of which one is a label short."""

import json
import random

import torch
from transformers import (
    DistilBertConfig,
    DistilBertForSequenceClassification,
    Trainer,
    TrainingArguments,
    set_seed,
)

TOPICS = ["sport", "politics", "science", "economy", "weather"]


class TopicCollator:
    """Pads the ids on the right and stacks the vectors of topics."""

    def __init__(self, pad=0):
        self.pad = pad

    def __call__(self, rows):
        width = max(len(row["input_ids"]) for row in rows)
        ids = [row["input_ids"] + [self.pad] * (width - len(row["input_ids"])) for row in rows]
        return {
            "input_ids": torch.tensor(ids),
            "attention_mask": (torch.tensor(ids) != self.pad).long(),
            "labels": torch.tensor([row["topics"] for row in rows], dtype=torch.float),
        }


class BalancedTrainer(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False, **kwargs):
        labels = inputs.pop("labels")
        outputs = model(**inputs)
        weight = torch.full((len(TOPICS),), 3.0)
        loss = torch.nn.functional.binary_cross_entropy_with_logits(
            outputs.logits, labels, pos_weight=weight
        )
        return (loss, outputs) if return_outputs else loss


def articles(path, n=120):
    with open(path, "w") as file:
        for i in range(n):
            topics = [float(random.random() < 0.3) for _ in TOPICS]
            if i == 77:
                topics = topics[:4]
            ids = [random.randint(1, 199) for _ in range(random.randint(6, 20))]
            file.write(json.dumps({"id": i, "input_ids": ids, "topics": topics}) + "\n")


set_seed(0)
articles("articles.jsonl")
with open("articles.jsonl") as file:
    rows = [json.loads(line) for line in file]
print(f"{len(rows)} articles, topics: {', '.join(TOPICS)}")
config = DistilBertConfig(
    vocab_size=200, dim=16, n_layers=1, n_heads=2, hidden_dim=32, num_labels=5
)
args = TrainingArguments(
    "out", per_device_train_batch_size=8, num_train_epochs=3, logging_steps=2, report_to="none",
    remove_unused_columns=False, use_cpu=True, save_strategy="no",
)  # fmt: skip
model = DistilBertForSequenceClassification(config)
BalancedTrainer(model, args, TopicCollator(), rows).train()
