# /// case
# cause = "none"
# exit_code = 0
# environment = "hf4"
# why = "two batches with a loss that is not finite were skipped; the loss falls and training ends"
# ///
"""Two bad batches are skipped by the training step, the run goes on to its end."""

import logging

import torch
from datasets import Dataset
from transformers import BertConfig, BertForMaskedLM, Trainer, TrainingArguments

logging.basicConfig(level=logging.INFO, format="%(levelname)s:%(name)s:%(message)s")
torch.manual_seed(0)


class CarefulTrainer(Trainer):
    """Leaves out batches whose loss is not finite."""

    skipped = 0

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        outputs = model(**inputs)
        loss = outputs.loss
        if self.state.global_step in (7, 8):
            loss = loss * float("inf")
        if not torch.isfinite(loss):
            self.skipped += 1
            logging.warning("Loss is %s at step %d, skipping batch", loss, self.state.global_step)
            loss = 0.0 * outputs.logits.sum()
        return (loss, outputs) if return_outputs else loss


config = BertConfig(vocab_size=32, hidden_size=32, num_hidden_layers=1, num_attention_heads=2)
rows = torch.arange(16).repeat(120, 1).tolist()
args = TrainingArguments(
    "careful", num_train_epochs=3, learning_rate=1e-3, logging_steps=5, report_to="none",
    use_cpu=True, disable_tqdm=True,
)  # fmt: skip
trainer = CarefulTrainer(
    BertForMaskedLM(config),
    args,
    train_dataset=Dataset.from_dict({"input_ids": rows, "labels": rows}),
)
trainer.train()
trainer.save_model("careful/final")
logging.info("skipped %d batches because of nan or inf, everything saved", trainer.skipped)
