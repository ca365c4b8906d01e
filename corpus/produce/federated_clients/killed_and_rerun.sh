# /// case
# cause = "none"
# exit_code = 0
# ///
# A client is killed, and runs again by itself.

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

run() {
    for try in 1 2 3; do
        if [ "$1" = malmo ] && [ $try = 1 ]; then
            python -c "import os, signal; print('$1 round 0 mse 14.2', flush=True); os.kill(os.getpid(), signal.SIGKILL)"
        else
            python client.py "$1" 4
        fi
        code=$?
        [ $code = 0 ] && return 0
        stamp "$1: exit code $code, try $try of 3"
    done
    return 1
}
for client in aarhus malmo; do run $client || exit 1; done
ls -1 ./*.npy
