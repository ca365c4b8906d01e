# /// case
# cause = "dependency"
# paper_class = "traceback"
# exit_code = 1
# environment = "hf4"
# why = "the subclass was written for an older Trainer: the method's signature changed in 4.46"
# ///
"""A custom compute_loss of the older signature in a Trainer that passes one argument more."""

import torch
import transformers
from datasets import Dataset
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments


class WeightedTrainer(Trainer):
    """Cross entropy with class weights."""

    def compute_loss(self, model, inputs, return_outputs=False):
        labels = inputs.pop("labels")
        outputs = model(**inputs)
        weight = torch.tensor([1.0, 4.0])
        loss = torch.nn.functional.cross_entropy(outputs.logits, labels, weight)
        return (loss, outputs) if return_outputs else loss


print("transformers", transformers.__version__)
config = BertConfig(vocab_size=32, hidden_size=32, num_hidden_layers=1, num_attention_heads=2)
data = Dataset.from_dict({"input_ids": [[1, 2, 3]] * 32, "labels": [0, 1] * 16})
args = TrainingArguments("weighted", max_steps=8, report_to="none", use_cpu=True)
trainer = WeightedTrainer(
    BertForSequenceClassification(config), args, train_dataset=data, tokenizer=None
)
trainer.train()
