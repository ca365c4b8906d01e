# /// case
# cause = "dtype_mismatch"
# paper_class = "runtime_error"
# exit_code = 1
# environment = "hf4"
# ///
"""The topics of a multi-label classifier are whole numbers where the loss wants floats."""

import torch
from datasets import Dataset
from transformers import (
    RobertaConfig,
    RobertaForSequenceClassification,
    Trainer,
    TrainingArguments,
    default_data_collator,
)

torch.set_num_threads(1)
generator = torch.Generator().manual_seed(0)
data = Dataset.from_dict(
    {
        "input_ids": torch.randint(4, 60, (32, 10), generator=generator).tolist(),
        "labels": torch.randint(0, 2, (32, 5), generator=generator).tolist(),
    }
)
data = data.map(lambda row: {"attention_mask": [1] * len(row["input_ids"])}, desc="masks")
print(data)
config = RobertaConfig(
    vocab_size=60, hidden_size=16, num_hidden_layers=1, num_attention_heads=2,
    intermediate_size=32, max_position_embeddings=16, num_labels=5,
    problem_type="multi_label_classification",
)  # fmt: skip
trainer = Trainer(
    RobertaForSequenceClassification(config),
    TrainingArguments(
        "topics", num_train_epochs=3, logging_steps=1, report_to="none", use_cpu=True
    ),
    train_dataset=data,
    data_collator=default_data_collator,
)
try:
    trainer.train()
finally:
    print(f"stopped at step {trainer.state.global_step} of {trainer.state.max_steps}")
