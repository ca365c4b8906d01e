# /// case
# cause = "config"
# paper_class = "traceback"
# exit_code = 1
# environment = "hf4"
# command = "python {program} --task qnli --output_dir out --learning_rate 5e-5 --per_device_batch 8 --max_steps 20"
# ///
"""An option on the command line belongs to none of the argument classes."""

import logging
from dataclasses import dataclass, field

import torch
from torch.utils.data import TensorDataset
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    HfArgumentParser,
    Trainer,
    TrainingArguments,
)

logger = logging.getLogger(__name__)


@dataclass
class DataArguments:
    task: str = field(metadata={"help": "name of the GLUE task"})
    max_length: int = 24


class FocalTrainer(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False, **kwargs):
        logits = model(inputs["input_ids"]).logits
        p = logits.softmax(-1).gather(1, inputs["labels"][:, None])
        loss = (-((1 - p) ** 2) * p.log()).mean()
        return (loss, {"logits": logits}) if return_outputs else loss


def collate(rows):
    ids, labels = zip(*rows)
    return {"input_ids": torch.stack(ids), "labels": torch.stack(labels)}


def main():
    logging.basicConfig(format="%(asctime)s - %(levelname)s - %(name)s -   %(message)s", level=20)
    logger.warning("Process rank: -1, device: cpu, n_gpu: 0, distributed training: False")
    parser = HfArgumentParser((DataArguments, TrainingArguments))
    data, training = parser.parse_args_into_dataclasses()
    config = BertConfig(vocab_size=100, hidden_size=16, num_hidden_layers=1, num_attention_heads=2)
    rows = TensorDataset(torch.randint(0, 100, (64, data.max_length)), torch.randint(0, 2, (64,)))
    model = BertForSequenceClassification(config)
    FocalTrainer(model, training, collate, rows).train()


if __name__ == "__main__":
    main()
