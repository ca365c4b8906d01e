# /// case
# cause = "host_oom"
# exit_code = 1
# environment = "hf4"
# ///
"""Evaluation keeps every logit in memory until an allocation fails."""

import resource

import torch
from datasets import Dataset
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments

torch.set_num_threads(1)
rows = torch.randint(0, 8000, (400, 64)).tolist()
data = Dataset.from_dict({"input_ids": rows, "labels": rows})
config = GPT2Config(vocab_size=8000, n_embd=16, n_layer=1, n_head=2, n_positions=64)
config.keys_to_ignore_at_inference = ["past_key_values"]
args = TrainingArguments(
    "gpt2-eval",
    max_steps=6,
    logging_steps=2,
    eval_strategy="steps",
    eval_steps=6,
    report_to="none",
    use_cpu=True,
)
trainer = Trainer(
    GPT2LMHeadModel(config),
    args,
    train_dataset=data.select(range(48)),
    eval_dataset=data,
    compute_metrics=lambda p: {"ppl": float(p.predictions.mean())},
)
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (600 << 20), -1))
trainer.train()
