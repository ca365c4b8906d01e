# /// case
# cause = "nan_loss"
# exit_code = 1
# ///
"""Rewards overflow, the advantages and soon the probabilities are NaN, and sampling fails."""

import torch
from datasets import Dataset
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast
from trl import GRPOConfig, GRPOTrainer

torch.manual_seed(0)


def rare_word_reward(completions, **kwargs):
    return [10.0 ** (len(text) * 9) for text in completions]


words = ["<unk>", "<pad>", "</s>", *[f"w{i}" for i in range(29)]]
core = Tokenizer(models.WordLevel({w: i for i, w in enumerate(words)}, "<unk>"))
core.pre_tokenizer = pre_tokenizers.Whitespace()
tokenizer = PreTrainedTokenizerFast(
    tokenizer_object=core, unk_token="<unk>", pad_token="<pad>", eos_token="</s>"
)
args = GRPOConfig(
    "grpo",
    per_device_train_batch_size=4,
    num_generations=4,
    max_completion_length=6,
    logging_steps=1,
    learning_rate=1e-3,
    report_to="none",
    use_cpu=True,
)
model = GPT2LMHeadModel(GPT2Config(vocab_size=32, n_embd=32, n_layer=1, n_head=2, n_positions=64))
GRPOTrainer(
    model,
    rare_word_reward,
    args=args,
    train_dataset=Dataset.from_dict({"prompt": ["w1 w2"] * 32}),
    processing_class=tokenizer,
).train()
