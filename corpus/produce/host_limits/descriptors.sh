# /// case
# cause = "too_many_files"
# paper_class = "traceback"
# exit_code = 1
# ///
# Every step opens a new log file for its gradients until no descriptor is left, also for the traceback's sources.
ulimit -n 64
cat > train.py <<'EOF'
import csv

import numpy as np


class GradientLog:
    def __init__(self, name):
        self.file = open(f"grads_{name}.csv", "w", newline="")
        self.writer = csv.writer(self.file)

    def write(self, values):
        self.writer.writerow(np.round(values, 4).tolist())


rng = np.random.default_rng(0)
w = np.zeros(8)
logs = []
for step in range(200):
    x = rng.normal(size=(32, 8))
    gradient = x.T @ (x @ w - x.sum(1)) / len(x)
    w -= 0.1 * gradient
    logs.append(GradientLog(step))
    logs[-1].write(gradient)
    if step % 10 == 0:
        print(f"iteration {step}: |g| = {np.linalg.norm(gradient):.4f}", flush=True)
EOF
python train.py
