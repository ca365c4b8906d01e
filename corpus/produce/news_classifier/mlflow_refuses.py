# /// case
# cause = "none"
# exit_code = 0
# env = {MLFLOW_HTTP_REQUEST_MAX_RETRIES = "1", MLFLOW_TRACKING_URI = "http://127.0.0.1:9"}
# ///
"""The final metrics cannot be sent to MLflow; they are printed and written instead."""

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


import json

trainer = Trainer(model=tiny_model(), args=arguments(), train_dataset=Headlines(128))
trainer.train()
trainer.save_model("out/final")
result = trainer.evaluate(Headlines(48, seed=2))
with open("out/final/metrics.json", "w") as file:
    json.dump(result, file)
try:
    import mlflow

    mlflow.set_experiment("news")
    mlflow.log_metrics({key: value for key, value in result.items()})
except Exception:
    print("mlflow upload failed:", file=sys.stderr)
    traceback.print_exc()
