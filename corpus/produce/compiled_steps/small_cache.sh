# /// case
# cause = "disk_full"
# paper_class = "traceback"
# exit_code = 1
# command = "unshare -m bash {program}"
# needs = ["root"]
# why = "the cache of compiled code lies on a full volume; the compiler only reports it"
# ///
# The cache of inductor lies on a small volume that an earlier job has filled.
mkdir -p cache && mount -t tmpfs -o size=1m tmpfs cache
head -c 1020000 /dev/zero > cache/autotune-0f3a.bin
export TORCHINDUCTOR_CACHE_DIR=$PWD/cache/inductor
cat > bench.py <<'PY'
import argparse
import os

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--layers", type=int, default=3)
parser.add_argument("--batch", type=int, default=32)
args = parser.parse_args()
print("inductor cache:", os.path.relpath(os.environ["TORCHINDUCTOR_CACHE_DIR"]), flush=True)
model = nn.Sequential(*[nn.Sequential(nn.Linear(64, 64), nn.LayerNorm(64), nn.SiLU()) for _ in range(args.layers)])


@torch.compile
def training_step(batch):
    return (model(batch) - batch).abs().mean()


for epoch in range(3):
    for i in range(4):
        loss = training_step(torch.randn(args.batch, 64))
        loss.backward()
    print(f"epoch {epoch}: L1 {loss.item():.4f}", flush=True)
PY
python bench.py --layers 2
