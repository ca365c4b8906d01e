# mypy: ignore-errors
"""A tiny Llama tuned by TRL: supervised, or on preferences."""

import argparse
import os

import torch
from datasets import Dataset
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast
from transformers.trainer_utils import get_last_checkpoint
from trl import DPOConfig, DPOTrainer, SFTConfig, SFTTrainer

parser = argparse.ArgumentParser()
parser.add_argument("kind", choices=("sft", "dpo"))
parser.add_argument("--output", default="out")
parser.add_argument("--steps", type=int, default=30)
parser.add_argument("--rate", type=float, default=3e-3)
parser.add_argument("--resume", action="store_true")
options = parser.parse_args()

torch.manual_seed(0)
torch.set_num_threads(1)
words = ["<unk>", "<pad>", "</s>", *(f"w{i}" for i in range(29))]
core = Tokenizer(models.WordLevel({word: i for i, word in enumerate(words)}, unk_token="<unk>"))
core.pre_tokenizer = pre_tokenizers.Whitespace()
tokenizer = PreTrainedTokenizerFast(
    tokenizer_object=core, unk_token="<unk>", pad_token="<pad>", eos_token="</s>"
)
config = LlamaConfig(
    vocab_size=32,
    hidden_size=32,
    intermediate_size=64,
    num_hidden_layers=1,
    num_attention_heads=2,
    pad_token_id=1,
    eos_token_id=2,
)
chain = [" ".join(f"w{(start + i) % 29}" for i in range(12)) for start in range(64)]
common = {
    "output_dir": options.output,
    "per_device_train_batch_size": 4,
    "max_steps": options.steps,
    "learning_rate": options.rate,
    "logging_steps": 2,
    "save_steps": 10,
    "report_to": "none",
    "use_cpu": True,
}
if options.rate > 1:
    common |= {"optim": "sgd", "max_grad_norm": 1e12}
if options.kind == "sft":
    data = Dataset.from_dict({"text": chain})
    maker, settings = SFTTrainer, SFTConfig(**common)
else:
    data = Dataset.from_dict({"prompt": ["w0 "] * 64, "chosen": chain, "rejected": chain[::-1]})
    maker, settings = DPOTrainer, DPOConfig(max_length=32, **common)
others = {"ref_model": LlamaForCausalLM(config)} if options.kind == "dpo" else {}
trainer = maker(
    LlamaForCausalLM(config),
    args=settings,
    train_dataset=data,
    processing_class=tokenizer,
    **others,
)
last = get_last_checkpoint(options.output) if os.path.isdir(options.output) else None
trainer.train(resume_from_checkpoint=last if options.resume else None)
