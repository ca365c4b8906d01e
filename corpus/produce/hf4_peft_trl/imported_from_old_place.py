# /// case
# cause = "dependency"
# paper_class = "missing_module"
# exit_code = 1
# environment = "hf4"
# ///
"""A name is imported that the installed PEFT does not have any more."""

import argparse
import logging
import os

from datasets import load_dataset
from peft import LoraConfig, PeftModel, prepare_model_for_int8_training

logging.basicConfig(level=os.environ.get("LOGLEVEL", "INFO"))
parser = argparse.ArgumentParser()
parser.add_argument("--data_path", default="yahma/alpaca-cleaned")
parser.add_argument("--lora_r", type=int, default=8)
args = parser.parse_args()
data = load_dataset(args.data_path)
print(data, LoraConfig(r=args.lora_r), PeftModel, prepare_model_for_int8_training)
