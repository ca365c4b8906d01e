# /// case
# cause = "pickling"
# exit_code = 1
# why = "rank 0 cannot pickle the schedule that it sends; the second node only loses its peer"
# ///
# The first rank sends its schedule, which contains a local function, to the other node.
cat > schedule.py <<'PY'
import datetime
import math
import sys

import torch
import torch.distributed as dist


def cosine(total, warmup):
    def rate(step):
        if step < warmup:
            return step / warmup
        return 0.5 * (1 + math.cos(math.pi * (step - warmup) / (total - warmup)))

    return rate


def main():
    dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=15))
    rank = dist.get_rank()
    print(f"r{rank} joined", file=sys.stderr, flush=True)
    box = [{"schedule": cosine(100, 10), "seed": 5, "lr": 1e-3} if rank == 0 else None]
    dist.broadcast_object_list(box, src=0)
    settings = box[0]
    weight = torch.ones(4)
    for step in range(100):
        weight -= settings["lr"] * settings["schedule"](step) * weight
    print(f"r{rank} {weight.sum():.4f}")


main()
PY
PORT=$(python -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
torchrun --nnodes 2 --node-rank 1 --nproc-per-node 1 --master-addr 127.0.0.1 --master-port $PORT schedule.py 2>&1 | sed -u 's/^/[1] /' &
torchrun --nnodes 2 --node-rank 0 --nproc-per-node 1 --master-addr 127.0.0.1 --master-port $PORT schedule.py 2>&1 | sed -u 's/^/[0] /'
code=${PIPESTATUS[0]}
wait
exit $code
