# /// case
# cause = "cuda_environment"
# paper_class = "runtime_error"
# exit_code = 1
# why = "the weights were saved on a GPU and are loaded where there is none"
# ///
"""Weights that were saved on a GPU are loaded on a machine without one."""

import subprocess
import sys

import torch
from transformers import GPT2Config, GPT2LMHeadModel

WRITER = """
import torch
from transformers import GPT2Config, GPT2LMHeadModel
torch.serialization.register_package(1, lambda obj: "cuda:0", lambda obj, location: None)
model = GPT2LMHeadModel(GPT2Config(vocab_size=100, n_embd=32, n_layer=1, n_head=2, n_positions=32))
torch.save(model.state_dict(), "gpt2_epoch3.pt")
"""
subprocess.run([sys.executable, "-c", WRITER], check=True, stderr=subprocess.DEVNULL)

model = GPT2LMHeadModel(GPT2Config(vocab_size=100, n_embd=32, n_layer=1, n_head=2, n_positions=32))
print("=> loading checkpoint 'gpt2_epoch3.pt'")
model.load_state_dict(torch.load("gpt2_epoch3.pt"))
print("=> loaded")
