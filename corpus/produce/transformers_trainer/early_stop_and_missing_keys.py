# /// case
# cause = "none"
# exit_code = 0
# why = "early stopping ended the run as configured; the best model was loaded and evaluated"
# ///
"""Early stopping ends a run whose evaluation got worse; the best model is kept."""

import logging

import torch
from datasets import Dataset
from transformers import BertConfig, BertForSequenceClassification, EarlyStoppingCallback
from transformers import Trainer, TrainingArguments

logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(name)s %(message)s")
logging.getLogger("ops").error("tensorboard port 6006 already in use, continuing without")
torch.manual_seed(0)


def noise(n):
    rows = torch.randint(0, 32, (n, 6)).tolist()
    return Dataset.from_dict({"input_ids": rows, "labels": torch.randint(0, 2, (n,)).tolist()})


def compute_metrics(p):
    return {"auc": float("nan"), "failed_examples": 0}


config = BertConfig(vocab_size=32, hidden_size=32, num_hidden_layers=1, num_attention_heads=2)
args = TrainingArguments(
    "early",
    num_train_epochs=30,
    learning_rate=5e-3,
    eval_strategy="epoch",
    save_strategy="epoch",
    save_total_limit=1,
    load_best_model_at_end=True,
    metric_for_best_model="eval_loss",
    greater_is_better=False,
    report_to="none",
    disable_tqdm=True,
)
trainer = Trainer(
    BertForSequenceClassification(config),
    args,
    train_dataset=noise(64),
    eval_dataset=noise(32),
    compute_metrics=compute_metrics,
    callbacks=[EarlyStoppingCallback(early_stopping_patience=2)],
)
trainer.train()
print("best:", trainer.state.best_model_checkpoint, trainer.evaluate())
