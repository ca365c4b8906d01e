# /// case
# cause = "dependency"
# paper_class = "missing_module"
# exit_code = 1
# ///
"""The script imports trainers that this version of TRL no longer has at this place."""

import os

os.environ["TOKENIZERS_PARALLELISM"] = "false"

import torch
from transformers import AutoTokenizer
from trl import AutoModelForCausalLMWithValueHead, PPOConfig, PPOTrainer

config = PPOConfig(learning_rate=1.41e-5, batch_size=16, mini_batch_size=4)
tokenizer = AutoTokenizer.from_pretrained("lvwerra/gpt2-imdb")
model = AutoModelForCausalLMWithValueHead.from_pretrained("lvwerra/gpt2-imdb")
trainer = PPOTrainer(config, model, None, tokenizer)
query = tokenizer.encode("This morning I went to the ", return_tensors="pt")
stats = trainer.step([query[0]], [query[0]], [torch.tensor(1.0)])
