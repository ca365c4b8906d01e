# /// case
# cause = "permission"
# exit_code = 1
# needs = ["root"]
# why = "the folder is mounted read-only from the start"
# ///
# The folder of results is a read-only bind mount in the container of the job.
mkdir -p outputs
unshare -m bash -c '
mount --bind outputs outputs && mount -o remount,bind,ro outputs
echo "[entrypoint] uid=$(id -u) image=registry.local/train:2.3 outputs=$(grep -c " ro" /proc/self/mounts >/dev/null && echo mounted)"
cat > fit.py <<PY
import os
import numpy as np
rng = np.random.default_rng(0)
w = np.zeros(5)
for epoch in range(1, 6):
    x = rng.normal(size=(200, 5))
    w -= 0.1 * 2 * x.T @ (x @ w - x.sum(1)) / 200
    print(f"epoch {epoch} rmse {np.sqrt(np.mean((x @ w - x.sum(1)) ** 2)):.4f}", flush=True)
os.makedirs("outputs/run-17", exist_ok=True)
np.save("outputs/run-17/weights.npy", w)
PY
python fit.py
'
