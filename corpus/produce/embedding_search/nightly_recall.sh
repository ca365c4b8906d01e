# /// case
# cause = "time_limit"
# paper_class = ""
# exit_code = 124
# command = "bash {program}"
# ///
# The nightly measurement has ten seconds, and the exact search needs more.
set -euo pipefail
cat > recall.py <<'PY'
import time
import numpy as np

rng = np.random.default_rng(0)
base = rng.normal(size=(20000, 64)).astype(np.float32)
print("base", base.shape, flush=True)
for part in range(200):
    query = rng.normal(size=(16, 64)).astype(np.float32)
    best = np.argsort(-(query @ base.T), axis=1)[:, :10]
    print(f"part {part}/200 mean rank {best.mean():.1f}", flush=True)
    time.sleep(0.4)
PY
echo "[nightly] start, limit 10s"
timeout --verbose 10 python recall.py
echo "[nightly] stored recall"
