# /// case
# cause = "dependency"
# paper_class = "missing_module"
# exit_code = 1
# ///
"""An optimizer that the library no longer has is imported."""

import argparse
import logging

import torch
from transformers import AdamW, get_linear_schedule_with_warmup

logging.basicConfig(level=logging.INFO)
parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float, default=2e-5)
args = parser.parse_args()
model = torch.nn.Linear(4, 2)
optimizer = AdamW(model.parameters(), lr=args.lr)
scheduler = get_linear_schedule_with_warmup(optimizer, 10, 100)
