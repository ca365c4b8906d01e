# /// case
# cause = "none"
# exit_code = 0
# ///
# A rank of torchrun fails once; the agent restarts both, and they finish.

set -u
stamp() { echo "[$(date +%T)] $*"; }
cat > client.py <<EOF
"""A client of federated learning: fits its own rows, and writes its weights."""
import os, sys
import numpy as np
name, rounds = sys.argv[1], int(sys.argv[2])
rows = int(os.environ.get("ROWS", "200"))
rng = np.random.default_rng(sum(map(ord, name)))
x = rng.normal(size=(rows, 5)); y = x @ [1, 2, 0, -1, 3] + rng.normal(size=rows) / 9
w = np.load("global.npy") if os.path.exists("global.npy") else np.zeros(5)
if os.environ.get("BREAK") == name:
    w = np.zeros(int(os.environ.get("WIDTH", "7")))
for i in range(rounds):
    error = x @ w - y
    w = w - 0.1 * x.T @ error / rows
    print(f"{name} round {i} mse {np.mean(error**2):.4f}", flush=True)
np.save(f"{name}.npy", w)
EOF

cat > ranks.py <<'EOF'
import os, torch, torch.distributed as dist
dist.init_process_group("gloo")
rank, attempt = dist.get_rank(), int(os.environ["TORCHELASTIC_RESTART_COUNT"])
start = torch.load("state.pt")["round"] + 1 if os.path.exists("state.pt") else 0
for r in range(start, 8):
    w = torch.randn(4) / (r + 1)
    if rank == 1 and attempt == 0 and r == 4:
        raise KeyError("client 'lyon' sent no weights")
    dist.all_reduce(w)
    if rank == 0:
        torch.save({"round": r}, "state.pt")
        print(f"round {r} norm {w.norm():.4f}", flush=True)
dist.barrier()
dist.destroy_process_group()
EOF
torchrun --nproc-per-node=2 --max-restarts=2 --standalone ranks.py
