# /// case
# cause = "div_zero"
# exit_code = 1
# ///
"""A format reward divides by the number of sentences, and a completion has none."""

import torch
from datasets import Dataset
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast
from trl import RLOOConfig, RLOOTrainer

torch.manual_seed(3)


def words_per_sentence(completions, **kwargs):
    return [len(text.split()) / text.count("w7") for text in completions]


words = ["<unk>", "<pad>", "</s>", *[f"w{i}" for i in range(29)]]
core = Tokenizer(models.WordLevel({w: i for i, w in enumerate(words)}, "<unk>"))
core.pre_tokenizer = pre_tokenizers.Whitespace()
tokenizer = PreTrainedTokenizerFast(
    tokenizer_object=core, unk_token="<unk>", pad_token="<pad>", eos_token="</s>"
)
args = RLOOConfig(
    "rloo", beta=0.0, per_device_train_batch_size=4, num_generations=4, max_completion_length=6,
    report_to="none", use_cpu=True,
)  # fmt: skip
RLOOTrainer(
    GPT2LMHeadModel(GPT2Config(vocab_size=32, n_embd=32, n_layer=1, n_head=2, n_positions=64)),
    words_per_sentence,
    args=args,
    train_dataset=Dataset.from_dict({"prompt": ["w1 w2"] * 32}),
    processing_class=tokenizer,
).train()
