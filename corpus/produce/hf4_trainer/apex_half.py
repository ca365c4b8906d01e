# /// case
# cause = "missing_module"
# paper_class = "missing_module"
# exit_code = 1
# environment = "hf4"
# ///
"""The settings of an old run ask for apex, which is not installed."""

import sys

from transformers import HfArgumentParser, Trainer, TrainingArguments
from transformers import BertConfig, BertForSequenceClassification

parser = HfArgumentParser(TrainingArguments)
(args,) = parser.parse_args_into_dataclasses(
    [
        *sys.argv[1:],
        "--output_dir=/home/user/project/out",
        "--per_device_train_batch_size=4",
        "--gradient_accumulation_steps=8",
        "--fp16",
        "--fp16_opt_level=O2",
        "--half_precision_backend=apex",
    ]
)
print(f"Training/evaluation parameters {args}")
model = BertForSequenceClassification(BertConfig(hidden_size=32, num_attention_heads=2))
trainer = Trainer(model, args, train_dataset=[{"input_ids": [1, 2], "labels": 0}])
trainer.train()
