# /// case
# cause = "traceback"
# exit_code = 1
# why = "a bug of the reward function: it looks for an answer that not every completion has"
# ///
"""A reward function fails on a completion without the answer it expects."""

import re

from datasets import Dataset
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast
from trl import GRPOConfig, GRPOTrainer


def accuracy_reward(completions, answer, **kwargs):
    found = [re.search(r"(yes|no)", text).group(1) for text in completions]
    return [1.0 if a == b else 0.0 for a, b in zip(found, answer, strict=True)]


words = ["<unk>", "<pad>", "</s>", "yes", "no", *[f"w{i}" for i in range(27)]]
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
    report_to="none",
    use_cpu=True,
)
model = GPT2LMHeadModel(GPT2Config(vocab_size=32, n_embd=32, n_layer=1, n_head=2, n_positions=64))
GRPOTrainer(
    model,
    accuracy_reward,
    args=args,
    train_dataset=Dataset.from_dict({"prompt": ["w1 w2"] * 32, "answer": ["yes"] * 32}),
    processing_class=tokenizer,
).train()
