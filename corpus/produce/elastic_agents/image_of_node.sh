# /// case
# cause = "missing_module"
# exit_code = 1
# why = "a module of the project is not on the path of the second node; the first node's lost connection follows"
# ///
# The environment of the second node lacks the path with the project's own package.
set -u
mkdir -p libs/modelzoo && cat > libs/modelzoo/__init__.py <<'PY'
from torch import nn


def build(width):
    return nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 1))
PY
cat > run.py <<'PY'
import datetime
import logging
import os

import torch
import torch.distributed as dist

logging.basicConfig(format="%(asctime)s %(levelname)-5s %(message)s", level="INFO")
logging.info("host %s, rank %s of %s", os.environ["GROUP_RANK"], os.environ["RANK"], os.environ["WORLD_SIZE"])
dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=15))
logging.info("process group is up")


def main():
    from modelzoo import build

    model = build(16)
    for step in range(50):
        loss = model(torch.randn(8, 16)).square().mean()
        loss.backward()
        for parameter in model.parameters():
            dist.all_reduce(parameter.grad)
        if step % 10 == 0:
            logging.info("step %d loss %.4f", step, loss.item())


main()
PY
PORT=$(python -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
start() { torchrun --nnodes=2 --nproc_per_node=1 --rdzv_id=zoo --rdzv_backend=c10d --rdzv_endpoint=localhost:$PORT --max_restarts=0 --log_dir="elastic$1" --tee 3 run.py; }
PYTHONPATH=$PWD/libs start 0 > host0.txt 2>&1 &
sleep 1
start 1 > host1.txt 2>&1
wait
for host in 0 1; do
    echo "===== host$host"
    cat host$host.txt
done
! grep -q -i failed host0.txt host1.txt
