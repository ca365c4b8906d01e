# /// case
# cause = "time_limit"
# exit_code = 152
# why = "the limit on CPU time, set by the script and named by the shell"
# ///
# The limit on CPU time ends the run (SIGXCPU).
ulimit -c 0
ulimit -S -t 3
cat > fit.py <<'EOF'
import numpy as np

rng = np.random.default_rng(0)
x, y = rng.normal(size=(600, 60)), rng.normal(size=600)
w = np.zeros(60)
for sweep in range(10**9):
    for j in range(60):
        residual = y - x @ w + x[:, j] * w[j]
        w[j] = np.sign(x[:, j] @ residual) * max(abs(x[:, j] @ residual) - 5, 0) / (x[:, j] @ x[:, j])
    if sweep % 200 == 0:
        print(f"sweep {sweep} objective {np.square(y - x @ w).sum() / 2 + 5 * abs(w).sum():.6f}", flush=True)
EOF
python fit.py
code=$?
echo "fit.py: $code"
exit $code
