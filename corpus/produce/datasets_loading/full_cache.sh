# /// case
# cause = "disk_full"
# paper_class = "traceback"
# exit_code = 1
# environment = "hf4"
# command = "unshare -m bash {program}"
# needs = ["root"]
# ///
# The cache of prepared data sets lies on a volume that is nearly full.
mkdir -p ssd && mount -t tmpfs -o size=6m tmpfs ssd
export HF_DATASETS_CACHE=$PWD/ssd/datasets
cat > prepare.py << 'EOF'
import json
import random

from datasets import load_dataset

random.seed(5)
with open("pairs.jsonl", "w") as out:
    for i in range(60_000):
        words = " ".join(f"{random.random():.12f}" for _ in range(10))
        out.write(json.dumps({"source": words, "target": str(i)}) + "\n")
pairs = load_dataset("json", data_files="pairs.jsonl", split="train")
print(pairs)
EOF
df -h ssd
python prepare.py
