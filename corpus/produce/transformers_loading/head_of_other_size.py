# /// case
# cause = "checkpoint"
# paper_class = "runtime_error"
# exit_code = 1
# why = "the model folder was written with another number of classes: loading fails, no computation yet"
# ///
"""A classifier saved with three classes is loaded with five."""

from transformers import AutoModelForSequenceClassification, BertConfig
from transformers import BertForSequenceClassification

config = BertConfig(
    vocab_size=50, hidden_size=32, num_hidden_layers=1, num_attention_heads=2, num_labels=3
)
BertForSequenceClassification(config).save_pretrained("runs/stage1/best")
print("stage 2: continuing from runs/stage1/best with 5 labels")
model = AutoModelForSequenceClassification.from_pretrained("runs/stage1/best", num_labels=5)
