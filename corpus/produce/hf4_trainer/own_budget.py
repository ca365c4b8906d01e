# /// case
# cause = "time_limit"
# paper_class = "traceback"
# exit_code = 1
# environment = "hf4"
# why = "the job's own alarm ends it when its time is over"
# ///
"""The job's own alarm ends the run when the time budget is used up."""

import argparse
import signal
import time

import torch
from datasets import Dataset
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainerCallback, TrainingArguments

parser = argparse.ArgumentParser()
parser.add_argument("--time_budget_s", type=int, default=4)
opt = parser.parse_args()


def out_of_time(number, frame):
    raise TimeoutError(f"wall clock budget of {opt.time_budget_s} s exceeded, stopping the job")


class Slow(TrainerCallback):
    """Long steps."""

    def on_step_end(self, args, state, control, **kwargs):
        time.sleep(0.05)


rows = torch.randint(0, 100, (160, 16)).tolist()
data = Dataset.from_dict({"input_ids": rows, "labels": rows})
model = GPT2LMHeadModel(GPT2Config(vocab_size=100, n_embd=32, n_layer=1, n_head=2, n_positions=32))
args = TrainingArguments("lm", max_steps=4000, logging_steps=20, report_to="none", use_cpu=True)
signal.signal(signal.SIGALRM, out_of_time)
signal.alarm(opt.time_budget_s)
Trainer(model, args, train_dataset=data, callbacks=[Slow()]).train()
