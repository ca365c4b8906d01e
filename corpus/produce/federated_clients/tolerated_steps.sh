# /// case
# cause = "none"
# exit_code = 0
# ///
# Steps around the training fail, and are allowed to.

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

nvidia-smi --query-gpu=name --format=csv || true
git -C /srv/checkouts/federated rev-parse HEAD || stamp "no revision to record"
cp /etc/federated/clients.toml . 2>&1 || true
for client in gent turin; do python client.py $client 4; done
tar -czf weights.tar.gz gent.npy turin.npy && stamp "packed weights.tar.gz"
rsync -a weights.tar.gz backup:/srv/weights/ || stamp "WARNING: no backup was made"
rm -rf /proc/self/nothing || true
exit 0
