# /// case
# cause = "checkpoint"
# paper_class = "traceback"
# exit_code = 1
# env = {HF_HUB_OFFLINE = "1"}
# why = "the folder of our own run holds trainer state but no adapter; the hub is only where peft looks next"
# ///
"""The checkpoint folder of a full fine-tuning is loaded as an adapter."""

import argparse
import json
import os

from peft import PeftModel
from transformers import GPT2Config, GPT2LMHeadModel

parser = argparse.ArgumentParser()
parser.add_argument("--adapter", default="outputs/checkpoint-500")
args = parser.parse_args()

os.makedirs("outputs/checkpoint-500")
with open("outputs/checkpoint-500/trainer_state.json", "w") as out:
    json.dump({"global_step": 500, "epoch": 1.0}, out)
base = GPT2LMHeadModel(GPT2Config(vocab_size=100, n_embd=32, n_layer=2, n_head=2))
print(f"{args.adapter}: {os.listdir(args.adapter)}")
model = PeftModel.from_pretrained(base, args.adapter)
model = model.merge_and_unload()
