# /// case
# cause = "pickling"
# paper_class = "traceback"
# exit_code = 1
# ///
"""The collator is a lambda and the loader's workers are spawned."""

import torch
from datasets import Dataset
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments


class SpawnedLoaderTrainer(Trainer):
    """Workers by spawn: fork and the tokenizers' threads do not go together."""

    def get_train_dataloader(self):
        return torch.utils.data.DataLoader(
            self.train_dataset,
            batch_size=self._train_batch_size,
            collate_fn=self.data_collator,
            num_workers=2,
            multiprocessing_context="spawn",
        )


if __name__ == "__main__":
    config = BertConfig(vocab_size=32, hidden_size=32, num_hidden_layers=1, num_attention_heads=2)
    data = Dataset.from_dict({"input_ids": [[1, 2, 3]] * 32, "labels": [0, 1] * 16})
    trainer = SpawnedLoaderTrainer(
        BertForSequenceClassification(config),
        TrainingArguments("spawned", max_steps=5, report_to="none"),
        train_dataset=data,
        data_collator=lambda rows: {
            key: torch.tensor([row[key] for row in rows]) for key in rows[0]
        },
    )
    trainer.train()
