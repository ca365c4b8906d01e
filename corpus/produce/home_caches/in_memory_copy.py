# /// case
# cause = "oom_killer"
# exit_code = 1
# needs = ["root"]
# why = "the watcher of the job reports a kill for memory by its counter and forwards exit code 137"
# ///
"""A copy of the data is kept in memory; the watcher of the job tells that its child was killed for memory."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from rich.console import Console

console = Console(width=100)
GROUP = Path("/sys/fs/cgroup/memory/watch/child")
CHILD = """
import datasets
import numpy as np
rows, table = 0, []
for part in range(400):
    table.append(np.random.default_rng(part).integers(0, 50000, (2048, 128)))
    rows += 2048
    if part % 20 == 0:
        print(f"keep_in_memory: {rows} rows of input_ids", flush=True)
"""


def enter():
    (GROUP / "cgroup.procs").write_text(str(os.getpid()))


GROUP.mkdir(parents=True, exist_ok=True)
(GROUP / "memory.limit_in_bytes").write_text(str(360 << 20))
console.rule("watch: child started")
child = subprocess.Popen([sys.executable, "-c", CHILD], preexec_fn=enter)
status = child.wait()
time.sleep(0.3)
counters = dict(line.split() for line in (GROUP / "memory.oom_control").read_text().splitlines())
name = signal.Signals(-status).name if status < 0 else status
console.print(f"[bold red]watch: child ended by {name}[/]; oom_kill={counters['oom_kill']}")
GROUP.rmdir()
GROUP.parent.rmdir()
sys.exit(1)
