# /// case
# cause = "disk_full"
# paper_class = "traceback"
# exit_code = 1
# command = "unshare -m bash {program}"
# needs = ["root"]
# ///
# The tokenized copy does not fit on the scratch volume.
set -e
mkdir -p scratch && mount -t tmpfs -o size=1m tmpfs scratch
cat > tokenize_all.py << 'EOF'
"""Tokenize the whole corpus and keep the result on scratch."""
from datasets import Dataset
from loguru import logger

corpus = Dataset.from_dict({"text": [f"document {i} " * 20 for i in range(8000)]})
logger.info("tokenizing {} documents", len(corpus))


def encode(batch):
    return {"input_ids": [[hash(w) % 50000 for w in t.split()] for t in batch["text"]]}


with logger.catch(reraise=True):
    corpus = corpus.map(encode, batched=True, cache_file_name="scratch/tokenized.arrow")
logger.success("{} rows", len(corpus))
EOF
python tokenize_all.py
