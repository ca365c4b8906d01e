# /// case
# cause = "asset"
# paper_class = "traceback"
# exit_code = 1
# environment = "hf4"
# env = { HF_HUB_OFFLINE = "1" }
# why = "the local folder of the base model has configuration and weights and lacks the tokenizer"
# ///
"""The folder of the shared backbone was exported without its tokenizer."""

import argparse
import logging
import os

import torch
from transformers import (
    AutoModelForMaskedLM,
    AutoTokenizer,
    BertConfig,
    BertForMaskedLM,
    DataCollatorForLanguageModeling,
    Trainer,
    TrainingArguments,
)

logging.basicConfig(level=logging.INFO, format="%(asctime)s:%(name)s:%(message)s")
log = logging.getLogger("adapt")


def export(path):
    """The state in which the other team left the backbone."""
    config = BertConfig(
        vocab_size=120, hidden_size=16, num_hidden_layers=1, num_attention_heads=2,
        intermediate_size=32,
    )  # fmt: skip
    BertForMaskedLM(config).save_pretrained(path)


class DomainTrainer(Trainer):
    def get_train_dataloader(self):
        log.info("building the loader for %d documents", len(self.train_dataset))
        return super().get_train_dataloader()


parser = argparse.ArgumentParser()
parser.add_argument("--backbone", default="models/backbone-v3")
parser.add_argument("--mlm", type=float, default=0.15)
options = parser.parse_args()
export(options.backbone)
log.info("%s: %s", options.backbone, sorted(os.listdir(options.backbone)))
model = AutoModelForMaskedLM.from_pretrained(options.backbone)
log.info("model with %.1fk parameters loaded", model.num_parameters() / 1000)
tokenizer = AutoTokenizer.from_pretrained(options.backbone)
collator = DataCollatorForLanguageModeling(tokenizer, mlm_probability=options.mlm)
rows = [tokenizer("a document of the domain", truncation=True) for _ in range(50)]
DomainTrainer(model, TrainingArguments("adapted", use_cpu=True), collator, rows).train()
torch.save(model.state_dict(), "adapted.pt")
