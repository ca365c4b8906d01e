# /// case
# cause = "checkpoint"
# paper_class = "traceback"
# exit_code = 1
# why = "the folder of the checkpoint to resume from does not exist"
# ///
"""The checkpoint folder named for resuming does not exist."""

import argparse

import torch
from accelerate import Accelerator
from loguru import logger

parser = argparse.ArgumentParser()
parser.add_argument("--resume_from_checkpoint", default="results/step_12000")
args = parser.parse_args()
accelerator = Accelerator(cpu=True, log_with=None)
model, optimizer = torch.nn.Linear(4, 4), None
optimizer = torch.optim.SGD(model.parameters(), 0.1)
model, optimizer = accelerator.prepare(model, optimizer)
logger.info("Resumed from checkpoint: {}", args.resume_from_checkpoint)
accelerator.load_state(args.resume_from_checkpoint)
logger.info("starting epoch 3")
