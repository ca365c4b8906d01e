# /// case
# cause = "none"
# exit_code = 0
# environment = "hf4"
# why = "deprecation warnings and a failed evaluation sample; training and saving went to the end"
# ///
"""A run full of deprecation warnings reaches its end."""

import logging
import warnings

import torch
from datasets import Dataset
from peft import LoraConfig
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast
from trl import SFTConfig, SFTTrainer

warnings.simplefilter("always")
logging.basicConfig(level=logging.INFO)
torch.manual_seed(0)
core = Tokenizer(models.WordLevel({"<unk>": 0, "<pad>": 1, "</s>": 2, "hi": 3}, unk_token="<unk>"))
core.pre_tokenizer = pre_tokenizers.Whitespace()
tokenizer = PreTrainedTokenizerFast(
    tokenizer_object=core, unk_token="<unk>", pad_token="<pad>", eos_token="</s>"
)
model = GPT2LMHeadModel(GPT2Config(vocab_size=8, n_embd=32, n_layer=1, n_head=2, n_positions=64))
trainer = SFTTrainer(
    model,
    SFTConfig("sft", report_to="none", no_cuda=True, max_steps=12, logging_steps=3),
    train_dataset=Dataset.from_dict({"text": ["hi hi hi"] * 64}),
    tokenizer=tokenizer,
    max_seq_length=32,
    dataset_text_field="text",
    peft_config=LoraConfig(r=4, target_modules=["c_attn"], task_type="CAUSAL_LM"),
)
trainer.train()
trainer.save_model("sft/adapter")
for prompt in ("hi", "", "hi hi"):
    try:
        ids = tokenizer(prompt, return_tensors="pt").input_ids.long()
        print(
            repr(prompt), model.generate(input_ids=ids, max_new_tokens=4, pad_token_id=1).tolist()
        )
    except Exception:
        logging.exception("sampling failed for %r, continuing", prompt)
print("adapter saved to sft/adapter")
