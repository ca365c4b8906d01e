# /// case
# cause = "assertion"
# exit_code = 1
# why = "the program's own check that all ranks hold the same weights fails, and nothing before it shows why"
# ///
# A check of the program finds that the replicas have drifted apart.
cat > replicas.py <<'PY'
import logging
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.elastic.multiprocessing.errors import record

logging.basicConfig(level=logging.INFO, format=f"[rank {os.environ['RANK']}] %(message)s")


class Trainer:
    def __init__(self):
        torch.manual_seed(17)
        self.net = nn.Sequential(nn.Linear(8, 16), nn.Dropout(0.1), nn.Linear(16, 1))
        self.optimizer = torch.optim.Adam(self.net.parameters(), lr=1e-2)

    def average(self):
        for parameter in self.net.parameters():
            if parameter.grad.norm() > 1e-3 or dist.get_rank() < 2:
                dist.all_reduce(parameter.grad)
                parameter.grad /= dist.get_world_size()

    def step(self, number):
        x = torch.randn(16, 8, generator=torch.Generator().manual_seed(dist.get_rank() * 1000 + number))
        loss = (self.net(x).squeeze(1) - x.sum(1)).square().mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.average()
        if number == 23 and dist.get_rank() == 1:
            self.optimizer.step()
        self.optimizer.step()
        return loss.item()

    def verify(self, number):
        flat = torch.cat([p.detach().flatten() for p in self.net.parameters()])
        every = [torch.empty_like(flat) for _ in range(dist.get_world_size())]
        dist.all_gather(every, flat)
        worst = max((one - every[0]).abs().max().item() for one in every)
        assert worst < 1e-6, f"replicas differ by {worst:.3e} at step {number}"


@record
def main():
    dist.init_process_group("gloo")
    trainer = Trainer()
    for number in range(60):
        loss = trainer.step(number)
        if number % 10 == 9:
            trainer.verify(number)
            logging.info("step %d loss %.4f, replicas agree", number, loss)


main()
PY
PORT=$(python -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
for node in 1 0; do
    torchrun --nnodes 2 --node-rank $node --nproc-per-node 1 --master-addr 127.0.0.1 --master-port $PORT replicas.py > node$node.log 2>&1 &
    pids="$pids $!"
done
failed=0
for pid in $pids; do wait $pid || failed=1; done
for node in 0 1; do sed "s/^/node$node> /" node$node.log; done
exit $failed
