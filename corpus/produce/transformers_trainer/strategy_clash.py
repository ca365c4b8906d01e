# /// case
# cause = "config"
# paper_class = "traceback"
# exit_code = 1
# ///
"""Best-model tracking asks for matching save and eval strategies and does not get them."""

import logging

from datasets import Dataset
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    EarlyStoppingCallback,
    Trainer,
    TrainingArguments,
)

logging.basicConfig(format="%(asctime)s - %(levelname)s - %(name)s - %(message)s", level=20)
log = logging.getLogger(__name__)


def toy(n):
    return Dataset.from_dict(
        {"input_ids": [[1, 2, 3, i % 30] for i in range(n)], "labels": [i % 2 for i in range(n)]}
    )


def main():
    config = BertConfig(
        vocab_size=32, hidden_size=32, num_hidden_layers=2, num_attention_heads=2, num_labels=2
    )
    model = BertForSequenceClassification(config)
    log.info("model has %d parameters", model.num_parameters())
    args = TrainingArguments(
        "runs/bert-tiny",
        num_train_epochs=2,
        eval_strategy="epoch",
        save_strategy="steps",
        save_steps=50,
        load_best_model_at_end=True,
        metric_for_best_model="loss",
        report_to=[],
    )
    trainer = Trainer(
        model,
        args,
        train_dataset=toy(64),
        eval_dataset=toy(16),
        callbacks=[EarlyStoppingCallback(2)],
    )
    trainer.train()


if __name__ == "__main__":
    main()
