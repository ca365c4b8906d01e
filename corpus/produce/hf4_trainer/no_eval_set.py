# /// case
# cause = "config"
# paper_class = "traceback"
# exit_code = 1
# environment = "hf4"
# ///
"""Evaluation every few steps is configured and no evaluation set is given."""

import warnings

from datasets import Dataset
from transformers import RobertaConfig, RobertaForMaskedLM, Trainer, TrainingArguments

warnings.filterwarnings("default")
data = Dataset.from_dict({"input_ids": [[4, 5, 6]] * 64, "labels": [[4, 5, 6]] * 64})
parts = data.train_test_split(test_size=8)
config = RobertaConfig(vocab_size=50, hidden_size=32, num_hidden_layers=1, num_attention_heads=2)
args = TrainingArguments(
    "roberta-mlm",
    evaluation_strategy="steps",
    eval_steps=20,
    save_steps=20,
    logging_dir="roberta-mlm/logs",
    no_cuda=True,
    report_to="none",
)
trainer = Trainer(RobertaForMaskedLM(config), args, train_dataset=parts["train"])
trainer.train()
