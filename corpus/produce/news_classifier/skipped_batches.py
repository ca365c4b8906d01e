# /// case
# cause = "none"
# exit_code = 0
# ///
"""Some batches have token ids beyond the vocabulary; the step is skipped."""

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


class CarefulTrainer(Trainer):
    skipped = 0

    def training_step(self, model, inputs, *args, **kwargs):
        try:
            return super().training_step(model, inputs, *args, **kwargs)
        except IndexError:
            self.skipped += 1
            traceback.print_exc()
            print(f"skipping a batch at step {self.state.global_step}", file=sys.stderr)
            return torch.tensor(0.0)


data = Headlines(160)
data.x[11, 3] = 4096
trainer = CarefulTrainer(model=tiny_model(), args=arguments(), train_dataset=data)
trainer.train()
trainer.save_model("news-bert")
print(f"{trainer.skipped} batches skipped, model in news-bert")
