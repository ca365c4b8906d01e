# /// case
# cause = "checkpoint"
# paper_class = "traceback"
# exit_code = 1
# environment = "hf4"
# why = "the state file inside the checkpoint to resume from is cut off"
# ///
"""The trainer_state.json of the checkpoint was only written in part; weights and optimizer are whole."""

import logging
import sys
from pathlib import Path

import torch
from transformers import (
    RobertaConfig,
    RobertaForTokenClassification,
    Trainer,
    TrainingArguments,
    set_seed,
)
from transformers.trainer_utils import get_last_checkpoint

logging.basicConfig(
    stream=sys.stdout, level=logging.INFO, format="[%(levelname)s|%(name)s] %(message)s"
)
log = logging.getLogger("ner")


class SmoothTrainer(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        labels = inputs.pop("labels")
        outputs = model(**inputs)
        loss = torch.nn.functional.cross_entropy(
            outputs.logits.flatten(0, 1), labels.flatten(), label_smoothing=0.1
        )
        return (loss, outputs) if return_outputs else loss


def collate(rows):
    return {key: torch.tensor([row[key] for row in rows]) for key in rows[0]}


def build(steps):
    set_seed(1)
    config = RobertaConfig(
        vocab_size=60, hidden_size=16, num_hidden_layers=1, num_attention_heads=2,
        intermediate_size=32, max_position_embeddings=20, num_labels=3,
    )  # fmt: skip
    rows = [{"input_ids": [2 + i % 50] * 10, "labels": [i % 3] * 10} for i in range(80)]
    args = TrainingArguments(
        "ner-out", max_steps=steps, save_steps=10, logging_steps=5, report_to="none", use_cpu=True,
        disable_tqdm=True, remove_unused_columns=False,
    )  # fmt: skip
    return SmoothTrainer(RobertaForTokenClassification(config), args, collate, rows)


build(20).train()
state = Path("ner-out/checkpoint-20/trainer_state.json")
state.write_text(state.read_text()[:301])  # the node went down
log.info("job restarted")
try:
    last = get_last_checkpoint("ner-out")
    log.info("checkpoint detected, resuming training at %s", last)
    build(40).train(resume_from_checkpoint=last)
except ValueError:
    log.exception("training failed")
    sys.exit(1)
