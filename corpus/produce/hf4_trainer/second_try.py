# /// case
# cause = "none"
# exit_code = 0
# environment = "hf4"
# why = "the first attempt failed and was retried from scratch; training ended and the model was saved"
# ///
"""The first attempt dies of a flaky reader, the second one goes through."""

import logging
import traceback

import torch
from transformers import BertConfig, BertForMaskedLM, Trainer, TrainingArguments

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
ATTEMPT = 0


class Flaky(torch.utils.data.Dataset):
    """A remote store that drops a connection now and then."""

    def __len__(self):
        return 96

    def __getitem__(self, index):
        if ATTEMPT == 1 and index == 50:
            raise ConnectionResetError(104, "Connection reset by peer")
        row = torch.full((16,), index % 30)
        return {"input_ids": row, "labels": row}


def attempt():
    config = BertConfig(vocab_size=32, hidden_size=32, num_hidden_layers=1, num_attention_heads=2)
    args = TrainingArguments(
        "flaky", num_train_epochs=1, logging_steps=4, report_to="none", use_cpu=True
    )
    trainer = Trainer(BertForMaskedLM(config), args, train_dataset=Flaky())
    trainer.train()
    trainer.save_model("flaky/final")


for ATTEMPT in range(1, 4):
    try:
        attempt()
    except ConnectionError:
        traceback.print_exc()
        logging.error("attempt %d failed, retrying", ATTEMPT)
    else:
        logging.info("attempt %d succeeded, model in flaky/final", ATTEMPT)
        break
