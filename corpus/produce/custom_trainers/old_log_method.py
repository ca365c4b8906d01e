# /// case
# cause = "dependency"
# paper_class = "traceback"
# exit_code = 1
# why = "the subclass was written for an older Trainer, whose log method got one argument less"
# ///
"""A Trainer subclass written for older versions overrides log(), which now gets one argument more."""

import logging

import torch
import transformers
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments

logging.basicConfig(level=logging.INFO, format="%(levelname)s %(asctime)s %(message)s")


class LengthTrainer(Trainer):
    """Logs the mean length of the batches next to the loss."""

    seen = 0
    tokens = 0

    def compute_loss(self, model, inputs, return_outputs=False, **kwargs):
        self.seen += len(inputs["input_ids"])
        self.tokens += int(inputs["attention_mask"].sum())
        return super().compute_loss(model, inputs, return_outputs, **kwargs)

    def log(self, logs):
        if self.seen:
            logs["mean_length"] = round(self.tokens / self.seen, 2)
        super().log(logs)


def collate(rows):
    width = max(map(len, rows))
    ids = torch.tensor([row + [0] * (width - len(row)) for row in rows])
    mask = (ids > 0).long()
    return {"input_ids": ids, "attention_mask": mask, "labels": ids.masked_fill(mask == 0, -100)}


logging.info("transformers %s, torch %s", transformers.__version__, torch.__version__)
torch.manual_seed(0)
rows = [torch.randint(1, 50, (int(n),)).tolist() for n in torch.randint(4, 14, (90,))]
config = GPT2Config(vocab_size=50, n_embd=16, n_layer=1, n_head=2, n_positions=16)
args = TrainingArguments(
    "lengths", max_steps=30, logging_steps=10, report_to="none", use_cpu=True, disable_tqdm=True
)
LengthTrainer(GPT2LMHeadModel(config), args, collate, rows).train()
