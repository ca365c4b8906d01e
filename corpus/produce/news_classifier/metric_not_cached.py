# /// case
# cause = "none"
# exit_code = 0
# env = {HF_HUB_OFFLINE = "1", HF_DATASETS_OFFLINE = "1"}
# ///
"""The metric cannot be loaded offline; a function of its own takes its place."""

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


try:
    import evaluate

    metric = evaluate.load("f1")
except Exception as error:
    print(f"evaluate: {type(error).__name__}: {error}", file=sys.stderr)
    traceback.print_exc()
    metric = None


def compute(prediction):
    right = prediction.predictions.argmax(-1) == prediction.label_ids
    return {"accuracy": float(right.mean())}


trainer = Trainer(
    model=tiny_model(),
    args=arguments(num_train_epochs=3),
    train_dataset=Headlines(),
    eval_dataset=Headlines(32, seed=1),
    compute_metrics=compute,
)
trainer.train()
trainer.log_metrics("eval", trainer.evaluate())
