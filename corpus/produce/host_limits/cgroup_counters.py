# /// case
# cause = "oom_killer"
# exit_code = 1
# needs = ["root"]
# why = "the counter oom_kill of the job's cgroup says that its process was killed for memory"
# ///
"""The agent finds its worker killed and reads the counters of the worker's memory cgroup."""

import logging
import os
import subprocess
import sys
import time
from pathlib import Path

logging.basicConfig(level=logging.INFO, format="%(asctime)s agent[%(levelname)s] %(message)s")
log = logging.getLogger()
GROUP = Path("/sys/fs/cgroup/memory/docker/9f2ab81c7e04")
WORKER = """
import numpy as np
rows = []
for shard in range(200):
    rows.append(np.random.default_rng(shard).random((4096, 128)))
    print(f"worker: shard {shard} decoded, {sum(len(r) for r in rows)} rows", flush=True)
"""


def enter():
    (GROUP / "cgroup.procs").write_text(str(os.getpid()))


def main():
    GROUP.mkdir(parents=True, exist_ok=True)
    (GROUP / "memory.limit_in_bytes").write_text(str(128 << 20))
    worker = subprocess.Popen([sys.executable, "-c", WORKER], preexec_fn=enter)
    log.info("started worker rank 0 (limit 128 MiB)")
    code = worker.wait()
    time.sleep(0.2)
    log.error("worker rank 0 left with exit code %d", code)
    for name in ("memory.max_usage_in_bytes", "memory.failcnt", "memory.oom_control"):
        log.info("%s: %s", name, " ".join((GROUP / name).read_text().split()))
    GROUP.rmdir()
    GROUP.parent.rmdir()
    return int(code != 0)


sys.exit(main())
