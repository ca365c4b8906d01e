# /// case
# cause = "checkpoint"
# paper_class = "traceback"
# exit_code = 1
# ///
"""A requeued job resumes from a folder in which no checkpoint was ever written."""

import os

from datasets import Dataset
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments, set_seed

set_seed(42)
os.makedirs("outputs/exp-014/logs", exist_ok=True)
blocks = Dataset.from_dict({"input_ids": [[i % 90] * 16 for i in range(64)]})
blocks = blocks.map(lambda b: {"labels": b["input_ids"]})
model = GPT2LMHeadModel(GPT2Config(vocab_size=100, n_embd=32, n_layer=2, n_head=2, n_positions=64))
args = TrainingArguments(
    output_dir="outputs/exp-014", max_steps=20, save_steps=500, logging_steps=5, report_to="none"
)
trainer = Trainer(model=model, args=args, train_dataset=blocks)
print(
    f"restart count: {os.environ.get('SLURM_RESTART_COUNT', '1')}, resuming from latest checkpoint"
)
trainer.train(resume_from_checkpoint=True)
trainer.save_model()
