# /// case
# cause = "none"
# exit_code = 0
# ///
# One of the clients fails in the second of three aggregations, which goes on without it.

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

for round in 1 2 3; do
    for client in berlin lyon porto; do
        BREAK=$([ $round = 2 ] && echo lyon) python client.py $client 3 ||
            stamp "client $client failed with status $?, aggregating without it"
    done
    python -c '
import glob, numpy as np
files = sorted(f for f in glob.glob("*.npy") if f != "global.npy")
np.save("global.npy", np.mean([np.load(f) for f in files], 0)); print("aggregated", len(files))'
done
stamp "3 rounds done, global model in global.npy"
