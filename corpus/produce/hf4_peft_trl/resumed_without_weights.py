# /// case
# cause = "checkpoint"
# paper_class = "traceback"
# exit_code = 1
# environment = "hf4"
# why = "the folder to resume from has trainer state but neither weights nor adapter"
# ///
"""The checkpoint of an adapter run lost its weights to a clean-up script."""

import glob
import logging
import os

from datasets import Dataset
from peft import LoraConfig, get_peft_model
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments

logging.basicConfig(
    level=logging.INFO, format="[%(asctime)s,%(msecs)03d][%(levelname)s] %(message)s"
)


def run(steps, resume=None):
    model = GPT2LMHeadModel(
        GPT2Config(vocab_size=8, n_embd=32, n_layer=1, n_head=2, n_positions=64)
    )
    model = get_peft_model(model, LoraConfig(r=4, target_modules=["c_attn"], fan_in_fan_out=True))
    data = Dataset.from_dict({"input_ids": [[1, 2, 3]] * 64, "labels": [[1, 2, 3]] * 64})
    args = TrainingArguments(
        "lora", max_steps=steps, save_steps=5, logging_steps=5, report_to="none", use_cpu=True
    )
    Trainer(model, args, train_dataset=data).train(resume_from_checkpoint=resume)


run(5)
for name in glob.glob("lora/checkpoint-*/*.safetensors"):
    os.remove(name)
logging.info("resuming from lora/checkpoint-5: %s", sorted(os.listdir("lora/checkpoint-5")))
run(10, resume="lora/checkpoint-5")
