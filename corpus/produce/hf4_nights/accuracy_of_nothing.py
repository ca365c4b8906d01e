# /// case
# cause = "div_zero"
# exit_code = 1
# environment = "hf4"
# why = "the log does not show why no token of the language was counted"
# ///
"""compute_metrics of the Trainer divides by the tokens of a language that the labels do not have."""

import numpy as np
from datasets import Dataset
from transformers import BertConfig, BertForTokenClassification, Trainer, TrainingArguments

TAGS = {"per": 1, "loc": 2, "misc": 4}


def metrics(prediction):
    guess = prediction.predictions.argmax(-1)
    found = {}
    for tag, number in TAGS.items():
        hit = int(((guess == number) & (prediction.label_ids == number)).sum())
        found[f"recall_{tag}"] = hit / int((prediction.label_ids == number).sum())
    return found


rng = np.random.default_rng(0)
rows = Dataset.from_dict(
    {
        "input_ids": rng.integers(0, 70, (60, 6)).tolist(),
        "labels": rng.integers(0, 4, (60, 6)).tolist(),
    }
)
config = BertConfig(
    vocab_size=70, hidden_size=16, num_hidden_layers=1, num_attention_heads=2,
    intermediate_size=32, num_labels=5,
)  # fmt: skip
args = TrainingArguments(
    "ner", num_train_epochs=1, logging_steps=4, eval_strategy="epoch", report_to=[], use_cpu=True,
    save_strategy="no",
)  # fmt: skip
trainer = Trainer(
    BertForTokenClassification(config),
    args,
    train_dataset=rows,
    eval_dataset=rows,
    compute_metrics=metrics,
)
trainer.train()
