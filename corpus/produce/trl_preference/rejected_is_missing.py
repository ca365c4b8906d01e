# /// case
# cause = "data"
# paper_class = "traceback"
# exit_code = 1
# ///
"""The file of preferences has scores instead of rejected answers."""

import json

from datasets import load_dataset
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast
from trl import DPOConfig, DPOTrainer

with open("prefs.jsonl", "w") as out:
    for i in range(64):
        out.write(json.dumps({"prompt": "is it", "response": "yes", "score": i % 5}) + "\n")
core = Tokenizer(models.WordLevel({"<unk>": 0, "<pad>": 1, "</s>": 2, "yes": 3, "no": 4}, "<unk>"))
core.pre_tokenizer = pre_tokenizers.Whitespace()
tokenizer = PreTrainedTokenizerFast(
    tokenizer_object=core, unk_token="<unk>", pad_token="<pad>", eos_token="</s>"
)
prefs = load_dataset("json", data_files="prefs.jsonl", split="train")
print(prefs)
model = GPT2LMHeadModel(GPT2Config(vocab_size=8, n_embd=32, n_layer=1, n_head=2, n_positions=64))
args = DPOConfig("dpo", report_to="none", use_cpu=True, logging_steps=1)
DPOTrainer(model, args=args, train_dataset=prefs, processing_class=tokenizer).train()
