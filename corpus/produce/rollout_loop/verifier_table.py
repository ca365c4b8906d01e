# /// case
# cause = "file_not_found"
# exit_code = 1
# why = "the reward function opens a table of answers that is not there"
# ///
"""The reward function of a GRPO run looks the answers up in a table that is not there."""

import json
import functools
from pathlib import Path

import torch
from datasets import Dataset
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast
from trl import GRPOConfig, GRPOTrainer

ANSWERS = Path("verifier/answers-v2.json")


def tiny_tokenizer():
    words = ["<pad>", "<eos>", "what", "is", "plus", "a1", "a2", "so", "then"] + [
        str(i) for i in range(10)
    ]
    tokenizer = Tokenizer(models.WordLevel({w: i for i, w in enumerate(words)}, unk_token="<pad>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, pad_token="<pad>", eos_token="<eos>")


@functools.cache
def answers():
    return json.loads(ANSWERS.read_text())


def exact_match(completions, prompts, **kwargs):
    return [
        float(answers().get(prompt) in text.split()) for prompt, text in zip(prompts, completions)
    ]


def brevity(completions, **kwargs):
    return [-0.01 * len(text.split()) for text in completions]


def main():
    torch.manual_seed(0)
    tokenizer = tiny_tokenizer()
    config = GPT2Config(
        vocab_size=len(tokenizer),
        n_embd=16,
        n_layer=1,
        n_head=2,
        n_positions=64,
        bos_token_id=1,
        eos_token_id=1,
    )
    data = Dataset.from_dict(
        {"prompt": [f"what is {i} plus 1" for i in range(8)], "target": ["1", "2"] * 4}
    )
    args = GRPOConfig(
        output_dir="grpo",
        max_steps=6,
        per_device_train_batch_size=4,
        num_generations=4,
        max_completion_length=6,
        logging_steps=1,
        report_to="none",
        use_cpu=True,
        bf16=False,
        learning_rate=1e-3,
    )
    trainer = GRPOTrainer(
        GPT2LMHeadModel(config),
        reward_funcs=[brevity, exact_match],
        args=args,
        train_dataset=data,
        processing_class=tokenizer,
    )
    trainer.train()


main()
