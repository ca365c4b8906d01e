# /// case
# cause = "time_limit"
# paper_class = "traceback"
# exit_code = 124
# why = "the command timeout ended a training that still made progress; the agent's SignalException follows from it"
# ///
# The agents run under timeout, and the training is still making progress when it strikes.
cat > slow.py <<'PY'
import time

import torch
import torch.distributed as dist
from torch import nn

dist.init_process_group("gloo")
torch.manual_seed(dist.get_rank())
net = nn.parallel.DistributedDataParallel(nn.Sequential(nn.Linear(6, 12), nn.SiLU(), nn.Linear(12, 1)))
optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
epochs = 200
for epoch in range(epochs):
    for _ in range(5):
        x = torch.randn(32, 6)
        loss = (net(x) - x.prod(1, keepdim=True)).abs().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        time.sleep(0.08)
    if dist.get_rank() == 0:
        print(f"Epoch [{epoch + 1}/{epochs}] L1 {loss.item():.4f} eta {(epochs - epoch) * 0.4:.0f}s", flush=True)
PY
PORT=$(python -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
echo "budget of this queue: 18 s"
timeout --verbose 18 torchrun --nnodes 2 --nproc-per-node 1 --node-rank 1 --master-addr 127.0.0.1 --master-port $PORT slow.py > /dev/null 2>&1 &
timeout --verbose 18 torchrun --nnodes 2 --nproc-per-node 1 --node-rank 0 --master-addr 127.0.0.1 --master-port $PORT slow.py
code=$?
wait
exit $code
