# /// case
# cause = "asset"
# paper_class = "traceback"
# exit_code = 3
# environment = "hf4"
# env = {HF_DATASETS_OFFLINE = "1"}
# why = "says that it cannot reach the hub, but offline mode is set and the cache is empty"
# ///
"""Offline mode with an empty cache, which the library words as a connection problem."""

import logging
import sys

from datasets import load_dataset

logging.basicConfig(level=logging.INFO, stream=sys.stderr)
try:
    wiki = load_dataset("wikitext", "wikitext-2-raw-v1")
except Exception:
    logging.exception("could not prepare the data")
    sys.exit(3)
print(wiki)
