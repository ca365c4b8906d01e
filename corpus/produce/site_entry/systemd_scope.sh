# /// case
# cause = "oom_killer"
# exit_code = 1
# needs = ["root"]
# why = "the supervisor knows from the counter that the scope was hit by the OOM killer and words it as systemd does"
# ///
# A supervisor in the manner of systemd reports the result of its scope.
cat > supervise.py <<'PY'
import os
import subprocess
import sys
import time
from pathlib import Path

GROUP = Path("/sys/fs/cgroup/memory/user.slice/run-train.scope")
GROUP.mkdir(parents=True, exist_ok=True)
(GROUP / "memory.limit_in_bytes").write_text(str(100 << 20))


def enter():
    (GROUP / "cgroup.procs").write_text(str(os.getpid()))


def kills():
    return int((GROUP / "memory.oom_control").read_text().split()[-1])


print("Running scope as unit: run-train.scope", flush=True)
started = time.monotonic()
child = subprocess.Popen([sys.executable, "grow.py"], preexec_fn=enter)
code = child.wait()
time.sleep(0.2)
if kills():
    print("run-train.scope: A process of this unit has been killed by the OOM killer.")
    print("run-train.scope: Failed with result 'oom-kill'.")
elif code:
    print(f"run-train.scope: Main process exited, code=exited, status={code}")
print(f"run-train.scope: Consumed {time.monotonic() - started:.3f}s, {100.0:.1f}M memory peak.")
GROUP.rmdir()
GROUP.parent.rmdir()
sys.exit(1 if code else 0)
PY
cat > grow.py <<'PY'
import logging

import numpy as np

logging.basicConfig(level=logging.INFO, format="%(asctime)s INFO knn: %(message)s")
index = np.zeros((0, 64), dtype=np.float32)
for block in range(200):
    index = np.concatenate([index, np.random.default_rng(block).random((8192, 64), dtype=np.float32)])
    logging.info("block %d, index %s", block, index.shape)
PY
exec python supervise.py
