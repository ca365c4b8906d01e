# /// case
# cause = "data"
# paper_class = "traceback"
# exit_code = 1
# why = "examples of different length cannot be batched"
# ///
"""Sequences of different length meet the default collator."""

import argparse

from datasets import Dataset
from transformers import BertConfig, BertForTokenClassification, Trainer, TrainingArguments

parser = argparse.ArgumentParser()
parser.add_argument("--epochs", type=float, default=1)
parser.add_argument("--lr", type=float, default=5e-5)
opt = parser.parse_args()

LENGTHS = [16] * 96 + [11, 16, 16, 9] * 8
ner = Dataset.from_dict(
    {"input_ids": [[5] * n for n in LENGTHS], "labels": [[n % 3] * n for n in LENGTHS]}
)
config = BertConfig(
    vocab_size=40, hidden_size=32, num_hidden_layers=1, num_attention_heads=2, num_labels=9
)
args = TrainingArguments(
    "ner",
    num_train_epochs=opt.epochs,
    learning_rate=opt.lr,
    train_sampling_strategy="sequential",
    logging_steps=1,
    report_to="none",
)
trainer = Trainer(BertForTokenClassification(config), args, train_dataset=ner)
trainer.train()
