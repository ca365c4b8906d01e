# mypy: ignore-errors
"""A tiny GPT-2 under the Trainer of Transformers, on text that can be learnt."""

import argparse
import os

import torch
from datasets import Dataset
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainerCallback, TrainingArguments
from transformers.trainer_utils import get_last_checkpoint
from transformers.utils import logging

parser = argparse.ArgumentParser()
parser.add_argument("--output", default="out")
parser.add_argument("--steps", type=int, default=60)
parser.add_argument("--epochs", type=float)
parser.add_argument("--rate", type=float, default=3e-3)
parser.add_argument("--log-every", type=int, default=5)
parser.add_argument("--save-every", type=int)
parser.add_argument("--eval-every", type=int)
parser.add_argument("--stop-at", type=int, help="end as if the machine went down after this step")
parser.add_argument(
    "--resume", nargs="?", const="", help="from the folder's last checkpoint, if any"
)
parser.add_argument("--budget", type=int, help="end well, and silently, after this step")
parser.add_argument("--no-bar", action="store_true")
parser.add_argument("--info", action="store_true")
options = parser.parse_args()

torch.manual_seed(0)
torch.set_num_threads(1)
if options.info:
    logging.set_verbosity_info()
config = GPT2Config(
    vocab_size=64, n_embd=32, n_layer=2, n_head=2, n_positions=32, bos_token_id=0, eos_token_id=0
)
rows = [[(start + 3 * i) % 64 for i in range(24)] for start in range(240)]
data = Dataset.from_dict({"input_ids": rows, "labels": rows})
arguments = TrainingArguments(
    output_dir=options.output,
    per_device_train_batch_size=8,
    max_steps=-1 if options.epochs else options.steps,
    num_train_epochs=options.epochs or 1,
    learning_rate=options.rate,
    max_grad_norm=1e12 if options.rate > 1 else 1.0,
    optim="sgd" if options.rate > 1 else "adamw_torch",
    lr_scheduler_type="constant" if options.rate > 1 else "linear",
    logging_steps=options.log_every,
    save_strategy="steps" if options.save_every else "no",
    save_steps=options.save_every or 500,
    eval_strategy="steps" if options.eval_every else "no",
    eval_steps=options.eval_every,
    disable_tqdm=options.no_bar,
    report_to="none",
    use_cpu=True,
)


class Ends(TrainerCallback):
    """The machine goes down, or a budget is used up."""

    def on_step_end(self, args, state, control, **kwargs):
        """Without a word."""
        if options.stop_at and state.global_step > options.stop_at:
            os._exit(1)
        if options.budget and state.global_step >= options.budget:
            control.should_training_stop = True


trainer = Trainer(
    GPT2LMHeadModel(config), arguments, train_dataset=data, eval_dataset=data.select(range(64))
)
trainer.add_callback(Ends())
folder = options.resume or options.output
last = get_last_checkpoint(folder) if options.resume is not None and os.path.isdir(folder) else None
trainer.train(resume_from_checkpoint=last)
