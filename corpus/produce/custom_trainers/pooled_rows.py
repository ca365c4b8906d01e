# /// case
# cause = "dtype_mismatch"
# paper_class = "runtime_error"
# exit_code = 1
# ///
"""Pooled vectors are collected in a float32 array while the encoder works in bfloat16."""

import torch
from torch import nn
from transformers import BertConfig, BertModel, Trainer, TrainingArguments


class PairEncoder(nn.Module):
    """Encodes pairs; empty second texts keep a zero vector."""

    def __init__(self, config):
        super().__init__()
        self.encoder = BertModel(config, add_pooling_layer=False).to(torch.bfloat16)
        self.head = nn.Linear(2 * config.hidden_size, 2)

    def encode(self, ids, mask):
        hidden = self.encoder(input_ids=ids, attention_mask=mask).last_hidden_state
        return (hidden * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)

    def forward(self, first, second, labels=None):
        a = self.encode(first, (first > 0).to(torch.bfloat16)).float()
        present = (second > 0).any(1)
        if present.all():
            b = self.encode(second, (second > 0).to(torch.bfloat16)).float()
        else:
            b = torch.zeros_like(a)
            rows = second[present]
            b[present] = self.encode(rows, (rows > 0).to(torch.bfloat16))
        logits = self.head(torch.cat([a, b], -1))
        return {"loss": nn.functional.cross_entropy(logits, labels), "logits": logits}


def pairs(n=96):
    torch.manual_seed(3)
    rows = []
    for i in range(n):
        second = torch.randint(1, 90, (9,)) * int(i != 61)
        rows.append({"first": torch.randint(1, 90, (9,)), "second": second, "labels": i % 2})
    return rows


class OrderedTrainer(Trainer):
    """Walks through the pairs in the order of the file (curriculum)."""

    def _get_train_sampler(self, *args):
        return torch.utils.data.SequentialSampler(self.train_dataset)


config = BertConfig(
    vocab_size=90, hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32
)
args = TrainingArguments(
    "pairs", per_device_train_batch_size=8, num_train_epochs=2, logging_steps=2, report_to="none",
    use_cpu=True, save_strategy="no", logging_first_step=True,
)  # fmt: skip
OrderedTrainer(PairEncoder(config), args, train_dataset=pairs()).train()
