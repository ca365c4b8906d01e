# /// case
# cause = "cancelled"
# exit_code = -15
# environment = "hf4"
# stop = {signal = "TERM", when = "'epoch': 1.0"}
# env = {PYTHONUNBUFFERED = "1"}
# why = "SIGTERM and nothing else known"
# ///
"""SIGTERM in the middle of a run, with nothing said about who sent it."""

import time

import torch
from datasets import Dataset
from peft import LoraConfig, get_peft_model
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainerCallback, TrainingArguments


class Slow(TrainerCallback):
    """Long steps."""

    def on_step_end(self, args, state, control, **kwargs):
        time.sleep(0.05)


torch.set_num_threads(1)
rows = torch.randint(0, 100, (160, 16)).tolist()
data = Dataset.from_dict({"input_ids": rows, "labels": rows})
model = GPT2LMHeadModel(GPT2Config(vocab_size=100, n_embd=32, n_layer=1, n_head=2, n_positions=32))
model = get_peft_model(model, LoraConfig(r=4, target_modules=["c_attn"], fan_in_fan_out=True))
args = TrainingArguments(
    "lora",
    num_train_epochs=40,
    logging_steps=10,
    save_strategy="no",
    report_to="none",
    use_cpu=True,
)
Trainer(model, args, train_dataset=data, callbacks=[Slow()]).train()
