# /// case
# cause = "collective"
# paper_class = "nccl"
# exit_code = 1
# why = "the second node ends its loop earlier and leaves with status 0; the first one loses its peer in a collective, and no rank has an error before"
# ///
# The nodes have different numbers of batches, and the first one waits for a peer that has finished.
cat > uneven.py <<'PY'
import datetime
import logging
import os

import torch
import torch.distributed as dist
from torch import nn

rank = int(os.environ["RANK"])
logging.basicConfig(level=logging.INFO, format=f"%(asctime)s rank={rank} %(message)s")


class Shards:
    def __init__(self):
        self.rows = torch.randn(640 - 100 * rank, 12)

    def __iter__(self):
        yield from self.rows.split(32)


def main():
    dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=20))
    net = nn.Sequential(nn.Linear(12, 24), nn.ReLU(), nn.Linear(24, 12))
    optimizer = torch.optim.Adam(net.parameters())
    for step, batch in enumerate(Shards()):
        loss = (net(batch) - batch).square().mean()
        optimizer.zero_grad()
        loss.backward()
        for parameter in net.parameters():
            dist.all_reduce(parameter.grad, op=dist.ReduceOp.SUM)
        optimizer.step()
        if step % 4 == 0:
            logging.info("batch %d loss %.4f", step, loss.item())
    logging.info("epoch finished after %d batches", step + 1)


main()
PY
PORT=$(python -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
run="torchrun --nnodes 2 --nproc-per-node 1 --master-addr 127.0.0.1 --master-port $PORT --node-rank"
$run 1 uneven.py > second.txt 2>&1 &
$run 0 uneven.py
code=$?
wait
echo "--- second node"
cat second.txt
exit $code
