# /// case
# cause = "file_not_found"
# exit_code = 1
# why = "the script is absent in the second node's checkout: its agent's workers end with 2; the first node is stopped by its peer"
# ///
# The second node has an old checkout, in which the training script lies elsewhere.
PORT=$(python -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
mkdir -p node0/src node1
cat > node0/src/pretrain.py <<'PY'
import datetime

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=12))
model = DistributedDataParallel(nn.Linear(10, 10))
for step in range(10):
    model(torch.randn(4, 10)).sum().backward()
    print("step", step, flush=True)
PY
launch() {
    (cd "node$1" && torchrun --nnodes 2 --node-rank "$1" --nproc-per-node 1 --master-addr 127.0.0.1 \
        --master-port "$PORT" src/pretrain.py) 2>&1 | sed -u "s/^/[worker-$1] /"
    return "${PIPESTATUS[0]}"
}
launch 0 & first=$!
sleep 2
launch 1 & second=$!
wait $second; code1=$?
wait $first; code0=$?
echo "exit codes: worker-0=$code0 worker-1=$code1"
[ $code0 -eq 0 ] && [ $code1 -eq 0 ]
