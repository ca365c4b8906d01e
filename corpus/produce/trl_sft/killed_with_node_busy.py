# /// case
# cause = "killed_unknown"
# exit_code = -9
# stop = {signal = "KILL", when = "'loss'"}
# env = {PYTHONUNBUFFERED = "1"}
# ///
"""The process is killed from outside after some steps, without a word."""

import time

import torch
from datasets import Dataset
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast, TrainerCallback
from trl import SFTConfig, SFTTrainer


class Slow(TrainerCallback):
    """Long steps."""

    def on_step_end(self, args, state, control, **kwargs):
        time.sleep(0.05)


torch.set_num_threads(1)
core = Tokenizer(models.WordLevel({"<unk>": 0, "<pad>": 1, "</s>": 2, "hi": 3}, unk_token="<unk>"))
core.pre_tokenizer = pre_tokenizers.Whitespace()
tokenizer = PreTrainedTokenizerFast(
    tokenizer_object=core, unk_token="<unk>", pad_token="<pad>", eos_token="</s>"
)
config = LlamaConfig(
    vocab_size=8, hidden_size=32, intermediate_size=64, num_hidden_layers=1, num_attention_heads=4
)
args = SFTConfig(
    "sft", max_length=32, max_steps=500, logging_steps=10, report_to="none", use_cpu=True
)
data = Dataset.from_dict({"text": ["hi hi hi"] * 400})
SFTTrainer(
    LlamaForCausalLM(config),
    args,
    train_dataset=data,
    processing_class=tokenizer,
    callbacks=[Slow()],
).train()
