# /// case
# cause = "compile_error"
# paper_class = "traceback"
# exit_code = 1
# ///
"""torch_compile meets a host without a working C++ compiler."""

import os

os.environ["CXX"] = "/opt/gcc-13/bin/g++"

import torch  # noqa: E402
from datasets import Dataset  # noqa: E402
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments  # noqa: E402

rows = torch.randint(0, 100, (64, 16)).tolist()
data = Dataset.from_dict({"input_ids": rows, "labels": rows})
model = GPT2LMHeadModel(GPT2Config(vocab_size=100, n_embd=32, n_layer=1, n_head=2, n_positions=32))
args = TrainingArguments(
    "compiled", max_steps=20, torch_compile=True, logging_steps=1, report_to="none", use_cpu=True
)
Trainer(model, args, train_dataset=data).train()
