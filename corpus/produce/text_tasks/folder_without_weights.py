# /// case
# cause = "asset"
# paper_class = "traceback"
# exit_code = 1
# environment = "hf4"
# why = "the local folder of the base model has its config and lacks the weights"
# ///
"""The base model was copied without its weights; the folder has the config only."""

import logging
import os

from transformers import AutoModelForSequenceClassification, BertConfig

logging.basicConfig(
    level=logging.INFO, format="%(asctime)s | %(levelname)s | %(name)s | %(message)s"
)
logger = logging.getLogger("topics")

BASE = "models/bert-tiny-news"
os.makedirs(BASE)
BertConfig(hidden_size=32, num_hidden_layers=1, num_attention_heads=2).save_pretrained(BASE)
with open(f"{BASE}/README.md", "w") as card:
    card.write("# bert-tiny-news\nTrained on headlines. Weights are in the release.\n")

labels = ["sport", "politics", "weather", "crash reports"]
logger.info("Loading %s for %d labels: %s", BASE, len(labels), ", ".join(labels))
logger.info("files: %s", sorted(os.listdir(BASE)))
model = AutoModelForSequenceClassification.from_pretrained(
    BASE,
    num_labels=len(labels),
    id2label=dict(enumerate(labels)),
    label2id={name: i for i, name in enumerate(labels)},
)
logger.info("model has %d parameters", model.num_parameters())
