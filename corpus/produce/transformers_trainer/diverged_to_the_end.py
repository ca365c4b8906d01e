# /// case
# cause = "nan_loss"
# paper_class = "nan_loss"
# exit_code = 0
# why = "ends well on paper, but the gradient is nan from the first steps on"
# ///
"""A learning rate a thousand times too high: the gradient is NaN to the end, exit status 0."""

import torch
from datasets import Dataset
from transformers import LlamaConfig, LlamaForCausalLM, Trainer, TrainingArguments

torch.manual_seed(0)
config = LlamaConfig(
    vocab_size=128,
    hidden_size=64,
    intermediate_size=128,
    num_hidden_layers=2,
    num_attention_heads=4,
)
rows = torch.randint(0, 128, (256, 32)).tolist()
data = Dataset.from_dict({"input_ids": rows, "labels": rows})
args = TrainingArguments(
    "llama-tiny",
    per_device_train_batch_size=8,
    max_steps=40,
    logging_steps=2,
    learning_rate=3e30,
    lr_scheduler_type="constant",
    max_grad_norm=1e12,
    optim="sgd",
    save_strategy="no",
    report_to="none",
)
trainer = Trainer(LlamaForCausalLM(config), args, train_dataset=data)
result = trainer.train()
print(result.metrics)
trainer.save_model("llama-tiny/final")
print("saved model to llama-tiny/final")
