# /// case
# cause = "runtime_error"
# exit_code = 1
# ///
"""Every parameter was frozen by a prefix that matches the head as well."""

from datasets import Dataset
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments
from transformers.utils import logging

logging.set_verbosity_info()
logger = logging.get_logger("transformers")

config = BertConfig(vocab_size=32, hidden_size=32, num_hidden_layers=1, num_attention_heads=2)
model = BertForSequenceClassification(config)
for name, parameter in model.named_parameters():
    if name.startswith(("bert", "cl")):
        parameter.requires_grad = False
logger.info(f"trainable: {sum(p.numel() for p in model.parameters() if p.requires_grad):,}")

data = Dataset.from_dict({"input_ids": [[1, 2, 3]] * 32, "labels": [0, 1] * 16})
args = TrainingArguments("frozen", max_steps=5, report_to="none")
Trainer(model, args, train_dataset=data).train()
