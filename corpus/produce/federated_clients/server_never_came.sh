# /// case
# cause = "network"
# exit_code = 7
# ///
# curl is tried three times; the server does not answer.

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

for attempt in 1 2 3; do
    curl -sS -o rows.csv "http://127.0.0.1:9/rows.csv" && break
    code=$?
    stamp "download failed (attempt $attempt)"
    [ $attempt = 3 ] && exit $code
    sleep 1
done
ROWS=$(wc -l < rows.csv) python client.py oslo 6
