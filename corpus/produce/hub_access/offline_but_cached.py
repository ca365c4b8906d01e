# /// case
# cause = "none"
# exit_code = 0
# environment = "hf4"
# env = {HF_ENDPOINT = "http://127.0.0.1:9", HF_HUB_DOWNLOAD_TIMEOUT = "3"}
# why = "the hub could not be reached, the local copy was used instead and the work was done"
# ///
"""The hub cannot be reached; the copy in the cache serves and the work is done."""

import json
import logging
import os

from huggingface_hub import constants, hf_hub_download

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
commit = "5f91d94bd9cd7190a9f3216ff93cd1dd95f2c7be"
folder = f"{constants.HF_HUB_CACHE}/models--acme--tiny"
os.makedirs(f"{folder}/snapshots/{commit}")
os.makedirs(f"{folder}/refs")
with open(f"{folder}/refs/main", "w") as out:
    out.write(commit)
with open(f"{folder}/snapshots/{commit}/config.json", "w") as out:
    json.dump({"model_type": "gpt2", "n_embd": 32, "n_layer": 1, "n_head": 2}, out)

try:
    path = hf_hub_download("acme/tiny", "config.json", force_download=True)
except Exception as error:
    logging.error("hub not reachable (%s: %s)", type(error).__name__, str(error).splitlines()[0])
    path = hf_hub_download("acme/tiny", "config.json")
    logging.warning("using the cached copy %s", os.path.relpath(path, constants.HF_HUB_CACHE))
print("loaded:", json.load(open(path)))
