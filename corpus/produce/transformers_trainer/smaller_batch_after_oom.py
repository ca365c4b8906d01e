# /// case
# cause = "none"
# exit_code = 0
# why = "the allocation failures were answered with a smaller batch and the run ended well"
# ///
"""The batch is halved after allocation failures and the run ends well."""

import resource

import torch
from datasets import Dataset
from transformers import BertConfig, BertForMaskedLM, Trainer, TrainingArguments

torch.set_num_threads(1)
rows = torch.randint(0, 4000, (128, 128)).tolist()
data = Dataset.from_dict({"input_ids": rows, "labels": rows})
config = BertConfig(vocab_size=4000, hidden_size=64, num_hidden_layers=1, num_attention_heads=2)


class Watched(BertForMaskedLM):
    """Says which batch is tried."""

    def forward(self, input_ids=None, labels=None, **kwargs):
        try:
            return super().forward(input_ids=input_ids, labels=labels, **kwargs)
        except RuntimeError as error:
            print(f"batch of {len(input_ids)}: {error}", flush=True)
            raise


args = TrainingArguments(
    "bert-mlm",
    per_device_train_batch_size=64,
    auto_find_batch_size=True,
    max_steps=6,
    logging_steps=2,
    report_to="none",
)
trainer = Trainer(Watched(config), args, train_dataset=data)
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (420 << 20), -1))
trainer.train()
print(f"done with a batch of {trainer._train_batch_size}")
