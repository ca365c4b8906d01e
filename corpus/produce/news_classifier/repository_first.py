# /// case
# cause = "network"
# exit_code = 1
# paper_class = "traceback"
# env = {HF_ENDPOINT = "http://127.0.0.1:9", HF_TOKEN = "hf_x"}
# ///
"""The hub refuses twice, and the run needs a repository there."""

import sys

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


from huggingface_hub import HfApi

for attempt in (1, 2):
    try:
        HfApi().create_repo("newsdesk/news-bert-tiny", exist_ok=True)
        break
    except Exception as error:
        print(f"create_repo, attempt {attempt}: {type(error).__name__}: {error}", file=sys.stderr)
        if attempt == 2:
            sys.exit("the repository for the checkpoints must exist before the training starts")
trainer = Trainer(model=tiny_model(), args=arguments(), train_dataset=Headlines())
trainer.train()
trainer.push_to_hub()
