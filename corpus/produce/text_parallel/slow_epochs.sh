# /// case
# cause = "time_limit"
# paper_class = "traceback"
# exit_code = 124
# why = "the steps go on to the end; timeout(1) of the script ended the launcher, as status 124 says"
# ///
# The script gives the launcher some seconds of wall time, and the healthy training needs more.
cat > finetune.py <<'PROGRAM'
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo")
model = DistributedDataParallel(nn.LSTM(32, 32, batch_first=True))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
began = time.time()
for step in range(1, 5001):
    x = torch.randn(4, 24, 32)
    y, _ = model(x)
    loss = (y - x.roll(1, 1)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    time.sleep(0.05)
    if step % 20 == 0 and dist.get_rank() == 0:
        rate = step / (time.time() - began)
        print(f"{step}/5000 loss {loss.item():.4f} {rate:.1f} it/s eta {(5000 - step) / rate:.0f}s", flush=True)
dist.destroy_process_group()
PROGRAM
set -o pipefail
BUDGET=${BUDGET:-10}
echo "launching 2 ranks, wall budget ${BUDGET}s"
timeout --kill-after 10 "$BUDGET" torchrun --standalone --nproc-per-node 2 finetune.py
code=$?
echo "launcher returned $code"
exit $code
