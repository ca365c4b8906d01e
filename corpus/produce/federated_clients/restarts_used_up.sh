# /// case
# cause = "data"
# exit_code = 1
# paper_class = "traceback"
# ///
# A rank of torchrun fails at the same line of the data after every restart.

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

printf '0.5,0.25\n0.75,n/a\n' > rows.csv
cat > ranks.py <<'EOF'
import os, torch, torch.distributed as dist
rank = int(os.environ["RANK"])
lines = open("rows.csv").read().splitlines()
print(f"rank {rank}: {len(lines)} rows, restart {os.environ['TORCHELASTIC_RESTART_COUNT']}", flush=True)
rows = torch.tensor([[float(v) for v in line.split(",")] for line in lines[rank : rank + 1]])
dist.init_process_group("gloo")
for r in range(3):
    w = rows.sum(0) * r
    dist.all_reduce(w)
    if rank == 0:
        print(f"round {r} sum {w.sum():.1f}", flush=True)
dist.destroy_process_group()
EOF
torchrun --nproc-per-node=2 --max-restarts=1 --standalone ranks.py
