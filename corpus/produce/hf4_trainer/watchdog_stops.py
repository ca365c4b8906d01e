# /// case
# cause = "nan_loss"
# exit_code = 1
# environment = "hf4"
# ///
"""A callback of the team stops the run when the logged loss is no longer finite."""

import logging
import math
import sys

import torch
from datasets import Dataset
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainerCallback, TrainingArguments

logging.basicConfig(
    stream=sys.stdout, level=logging.INFO, format="%(asctime)s | %(levelname)-7s | %(message)s"
)
log = logging.getLogger("pretrain")


class FiniteLoss(TrainerCallback):
    """Raises when the loss stops being a number."""

    def on_log(self, args, state, control, logs=None, **kwargs):
        log.info("step=%d %s", state.global_step, logs)
        if not math.isfinite(logs.get("loss", 0.0)):
            log.error("training diverged at step %d, giving up", state.global_step)
            raise FloatingPointError(f"non-finite loss {logs['loss']} at step {state.global_step}")


torch.manual_seed(1)
rows = torch.randint(0, 100, (256, 16)).tolist()
data = Dataset.from_dict({"input_ids": rows, "labels": rows})
args = TrainingArguments(
    "pretrain",
    learning_rate=1e18,
    warmup_steps=12,
    max_grad_norm=0.0,
    optim="sgd",
    logging_steps=2,
    max_steps=200,
    logging_nan_inf_filter=False,
    use_cpu=True,
    disable_tqdm=True,
    report_to="none",
)
model = GPT2LMHeadModel(GPT2Config(vocab_size=100, n_embd=32, n_layer=2, n_head=2, n_positions=32))
Trainer(model, args, train_dataset=data, callbacks=[FiniteLoss()]).train()
