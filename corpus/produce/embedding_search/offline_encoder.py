# /// case
# cause = "asset"
# paper_class = "traceback"
# exit_code = 1
# env = {HF_HUB_OFFLINE = "1", TOKENIZERS_PARALLELISM = "false"}
# ///
"""The encoder's name is right, but the node may not ask the hub and has no copy."""

import logging

from transformers import AutoModel, AutoTokenizer

logging.basicConfig(level=logging.INFO, format="%(asctime)s | %(levelname)s | %(message)s")
log = logging.getLogger("index")
MODELS = ["intfloat/multilingual-e5-small", "BAAI/bge-small-en-v1.5"]

log.info("building the passage index for %d encoders", len(MODELS))
for name in MODELS:
    log.info("encoder %s", name)
    tokenizer = AutoTokenizer.from_pretrained(name)
    model = AutoModel.from_pretrained(name).eval()
    log.info("%s: %d dimensions", name, model.config.hidden_size)
