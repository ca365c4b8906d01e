# /// case
# cause = "config"
# paper_class = "traceback"
# exit_code = 1
# ///
"""A streamed data set has no length and no max_steps is set."""

from datasets import Dataset
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments

stream = Dataset.from_dict({"input_ids": [[1, 2, 3, 4]] * 64, "labels": [[1, 2, 3, 4]] * 64})
stream = stream.to_iterable_dataset(num_shards=4).shuffle(seed=1, buffer_size=16)
model = GPT2LMHeadModel(GPT2Config(vocab_size=100, n_embd=32, n_layer=1, n_head=2, n_positions=32))
args = TrainingArguments(
    "stream", num_train_epochs=2, per_device_train_batch_size=4, report_to="none"
)
Trainer(model, args, train_dataset=stream).train()
