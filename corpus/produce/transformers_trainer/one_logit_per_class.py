# /// case
# cause = "shape_mismatch"
# paper_class = "traceback"
# exit_code = 1
# why = "float labels make the loss one for many labels, whose shape does not fit; raised as ValueError"
# ///
"""Class numbers given as floats make the model choose a loss of another shape."""

import pandas as pd
from datasets import Dataset
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments

frame = pd.DataFrame({"input_ids": [[1, 2, 3]] * 40, "label": [0.0, 1.0, 2.0, None] * 10})
frame = frame.dropna()
print(frame.dtypes)
data = Dataset.from_pandas(frame, preserve_index=False)
config = BertConfig(
    vocab_size=32, hidden_size=32, num_hidden_layers=1, num_attention_heads=2, num_labels=3
)
args = TrainingArguments("three-classes", max_steps=10, logging_steps=1, report_to="none")
Trainer(BertForSequenceClassification(config), args, train_dataset=data).train()
