# /// case
# cause = "config"
# paper_class = "traceback"
# exit_code = 2
# ///
"""Three reward weights for two reward functions, configured in YAML."""

import logging
import sys
from pathlib import Path

import yaml
from datasets import Dataset
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast
from trl import GRPOConfig, GRPOTrainer

logging.basicConfig(stream=sys.stdout, level=logging.INFO)
Path("grpo.yaml").write_text(
    "output_dir: grpo\nnum_generations: 4\nper_device_train_batch_size: 4\n"
    "reward_weights: [1.0, 0.5, 0.2]\nreport_to: none\nuse_cpu: true\n"
)


def length_reward(completions, **kwargs):
    return [-abs(10 - len(text)) for text in completions]


def format_reward(completions, **kwargs):
    return [float(text.startswith("yes")) for text in completions]


core = Tokenizer(models.WordLevel({"<unk>": 0, "<pad>": 1, "</s>": 2, "yes": 3, "no": 4}, "<unk>"))
core.pre_tokenizer = pre_tokenizers.Whitespace()
tokenizer = PreTrainedTokenizerFast(
    tokenizer_object=core, unk_token="<unk>", pad_token="<pad>", eos_token="</s>"
)
try:
    GRPOTrainer(
        GPT2LMHeadModel(GPT2Config(vocab_size=8, n_embd=32, n_layer=1, n_head=2, n_positions=64)),
        [length_reward, format_reward],
        args=GRPOConfig(**yaml.safe_load(Path("grpo.yaml").read_text())),
        train_dataset=Dataset.from_dict({"prompt": ["is it"] * 32}),
        processing_class=tokenizer,
    ).train()
except Exception:
    logging.exception("run failed")
    sys.exit(2)
