# /// case
# cause = "none"
# exit_code = 0
# why = "a metric is nan and an out of memory in evaluation was caught; training and saving went to the end"
# ///
"""Evaluation runs out of memory once, is repeated in small batches, and a metric is nan."""

import gc
import math

import torch
from datasets import Dataset
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast
from trl import SFTConfig, SFTTrainer

torch.manual_seed(0)
core = Tokenizer(models.WordLevel({"<unk>": 0, "<pad>": 1, "</s>": 2, "hi": 3}, unk_token="<unk>"))
core.pre_tokenizer = pre_tokenizers.Whitespace()
tokenizer = PreTrainedTokenizerFast(
    tokenizer_object=core, unk_token="<unk>", pad_token="<pad>", eos_token="</s>"
)
config = LlamaConfig(
    vocab_size=8, hidden_size=32, intermediate_size=64, num_hidden_layers=1, num_attention_heads=4
)
data = Dataset.from_dict({"text": ["hi hi hi"] * 64})
args = SFTConfig(
    "sft", max_length=16, max_steps=12, logging_steps=4, report_to="none", use_cpu=True
)
trainer = SFTTrainer(LlamaForCausalLM(config), args, train_dataset=data, processing_class=tokenizer)
trainer.train()
for batch in (1 << 22, 16):
    try:
        hidden = torch.ones(batch, 64, 4096)
        logits = trainer.model.lm_head(hidden[:, :, :32])
        break
    except (RuntimeError, torch.OutOfMemoryError) as error:
        print(f"evaluation with batch {batch} failed: {error}")
        gc.collect()
print({"eval_batch": batch, "eval_rougeL": math.nan, "eval_exact_match": 0.0, "n_failed": 1})
trainer.save_model("sft/final")
print("saved sft/final")
