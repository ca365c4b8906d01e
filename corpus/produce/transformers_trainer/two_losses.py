# /// case
# cause = "runtime_error"
# exit_code = 1
# why = "the graph is used a second time: a mistake in the program's own training step"
# ///
"""A custom loss keeps a running average with its graph: backward through it a second time."""

import torch
from datasets import Dataset
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments


class SmoothedLossTrainer(Trainer):
    """Adds a penalty for leaving the running average of the loss."""

    average = None

    def compute_loss(self, model, inputs, return_outputs=False, **kwargs):
        outputs = model(**inputs)
        loss = outputs.loss
        if self.average is None or self.state.global_step < 8:
            self.average = loss.detach()
        else:
            self.average = 0.9 * self.average + 0.1 * loss
        total = loss + 0.1 * (loss - self.average).abs()
        return (total, outputs) if return_outputs else total


torch.manual_seed(0)
config = BertConfig(vocab_size=32, hidden_size=32, num_hidden_layers=1, num_attention_heads=2)
rows = torch.randint(0, 32, (128, 8)).tolist()
data = Dataset.from_dict({"input_ids": rows, "labels": [r[0] % 2 for r in rows]})
args = TrainingArguments(
    "smoothed", per_device_train_batch_size=8, logging_steps=2, report_to="none", disable_tqdm=True
)
SmoothedLossTrainer(BertForSequenceClassification(config), args, train_dataset=data).train()
