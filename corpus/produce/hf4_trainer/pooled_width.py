# /// case
# cause = "shape_mismatch"
# paper_class = "runtime_error"
# exit_code = 1
# environment = "hf4"
# ///
"""A regression head reads the features of two towers as if they were one."""

import torch
from datasets import Dataset
from torch import nn
from transformers import BertConfig, BertModel, Trainer, TrainingArguments
from transformers.modeling_outputs import SequenceClassifierOutput


class Pair(nn.Module):
    """Two encoders, one head."""

    def __init__(self, config):
        super().__init__()
        self.left, self.right = BertModel(config), BertModel(config)
        self.head = nn.Sequential(nn.Dropout(0.1), nn.Linear(config.hidden_size, 1))

    def forward(self, input_ids, labels=None):
        a = self.left(input_ids).pooler_output
        b = self.right(input_ids.flip(1)).pooler_output
        score = self.head(torch.cat([a, b], dim=-1)).squeeze(-1)
        return SequenceClassifierOutput(nn.functional.mse_loss(score, labels), score)


config = BertConfig(vocab_size=32, hidden_size=48, num_hidden_layers=1, num_attention_heads=2)
data = Dataset.from_dict({"input_ids": [[1, 2, 3]] * 32, "labels": [0.5] * 32})
args = TrainingArguments("pair", max_steps=8, report_to="none", use_cpu=True, disable_tqdm=True)
Trainer(Pair(config), args, train_dataset=data).train()
