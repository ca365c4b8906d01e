# /// case
# cause = "network"
# paper_class = "traceback"
# exit_code = 1
# env = {HF_ENDPOINT = "http://127.0.0.1:9"}
# ///
"""Nothing listens where the mirror of the hub should be."""

import logging
import time

from transformers import AutoModelForSequenceClassification, AutoTokenizer

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s %(message)s")
started = time.time()
logging.info("fetching distilbert/distilbert-base-uncased")
tokenizer = AutoTokenizer.from_pretrained("distilbert/distilbert-base-uncased")
model = AutoModelForSequenceClassification.from_pretrained("distilbert/distilbert-base-uncased")
logging.info("ready after %.1f s", time.time() - started)
