# /// case
# cause = "dependency"
# paper_class = "traceback"
# exit_code = 1
# why = "an argument of the Trainer that newer versions of transformers have renamed"
# ///
"""A script for transformers 4 hands the tokenizer to the Trainer under its old name."""

import torch
import transformers
from tokenizers import Tokenizer, models
from transformers import (
    DistilBertConfig,
    DistilBertForSequenceClassification,
    PreTrainedTokenizerFast,
    Trainer,
    TrainingArguments,
    set_seed,
)

torch.set_num_threads(1)
set_seed(42)
transformers.logging.set_verbosity_info()
vocabulary = {word: i for i, word in enumerate(["[PAD]", "[UNK]", "good", "bad", "film", "boring"])}
tokenizer = PreTrainedTokenizerFast(
    tokenizer_object=Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]")),
    pad_token="[PAD]",
    unk_token="[UNK]",
)
train = [{"input_ids": [2, 4], "label": 1}, {"input_ids": [3, 4], "label": 0}] * 8
model = DistilBertForSequenceClassification(
    DistilBertConfig(vocab_size=6, dim=16, hidden_dim=32, n_layers=1, n_heads=2)
)
print(tokenizer)
print(model)
print(f"***** {model.num_parameters():,} parameters, {len(train)} reviews *****")
trainer = Trainer(
    model=model,
    args=TrainingArguments("reviews", max_steps=10, report_to="none", use_cpu=True),
    train_dataset=train,
    tokenizer=tokenizer,
)
trainer.train()
