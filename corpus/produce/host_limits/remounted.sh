# /// case
# cause = "filesystem_io"
# paper_class = "traceback"
# exit_code = 1
# command = "unshare -m bash {program}"
# needs = ["root"]
# why = "the disk had been writable in this run and was remounted read-only"
# ///
# The file system is remounted read-only in the middle of the run.
mkdir -p scratch
mount -t tmpfs -o size=32m tmpfs scratch || exit 90
cat > train.py <<'EOF'
import json
import sys
import time

import numpy as np

w = np.zeros(16)
for step in range(1, 41):
    w += 0.01 * (1 - w)
    time.sleep(0.05)
    if step % 5 == 0:
        print(f"step {step} loss {np.square(1 - w).mean():.5f}", flush=True)
        with open(f"scratch/metrics_{step}.json", "w") as file:
            json.dump({"step": step, "mean": float(w.mean())}, file)
        print(f"wrote metrics_{step}.json", file=sys.stderr, flush=True)
EOF
(sleep 1.2; mount -o remount,ro scratch) &
python train.py
code=$?
wait
exit $code
