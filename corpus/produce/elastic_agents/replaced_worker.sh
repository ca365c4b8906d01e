# /// case
# cause = "none"
# exit_code = 0
# env = {TORCH_DISABLE_SHARE_RDZV_TCP_STORE = "1"}
# timeout_s = 150
# why = "both agents restart their workers once, resume from the snapshot and end well"
# ///
# A worker of the second node fails once; both agents restart their workers, which resume.
cat > elastic.py <<'PY'
import datetime
import os
import time
from pathlib import Path

import torch
import torch.distributed as dist

SNAPSHOT = Path("snapshot.pt")


def load():
    if SNAPSHOT.exists():
        state = torch.load(SNAPSHOT)
        print(f"resuming from snapshot at epoch {state['epoch']}", flush=True)
        return state["w"], state["epoch"]
    return torch.zeros(5), 0


def main():
    rank = int(os.environ["RANK"])
    dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=20))
    w, first = load()
    target = torch.arange(5.0)
    for epoch in range(first, 12):
        if epoch == 6 and rank == 1 and not Path("seen").exists():
            Path("seen").touch()
            raise MemoryError("std::bad_alloc while decoding clip 4411")
        x = torch.randn(64, 5)
        grad = (x @ (w - target)) @ x / 64
        dist.all_reduce(grad)
        w -= 0.1 * grad
        if rank == 0:
            print(f"epoch {epoch} distance {(w - target).norm():.4f}", flush=True)
            torch.save({"w": w, "epoch": epoch + 1}, SNAPSHOT)
        dist.barrier()
    dist.destroy_process_group()
    if rank == 0:
        print("all epochs done", flush=True)


main()
PY
PORT=$(python -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
agent() {
    torchrun --nnodes 2 --nproc-per-node 1 --max-restarts 3 --rdzv-id 77 --rdzv-backend c10d \
        --rdzv-endpoint localhost:$PORT elastic.py 2>&1 | sed -u "s/^/(agent-$1) /"
    return ${PIPESTATUS[0]}
}
agent 0 & one=$!
sleep 1.5
agent 1 & two=$!
wait $one && wait $two && echo "job succeeded"
