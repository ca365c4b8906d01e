# /// case
# cause = "oom_killer"
# exit_code = 1
# needs = ["root"]
# why = "the event that the job reads from its own cgroup counts a kill of the OOM killer"
# ///
"""A process of the pool vanishes; the job reads the counters of its pod and says what they mean."""

import logging
import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

import numpy as np

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)-8s %(name)s %(message)s")
log = logging.getLogger("features.windows")
GROUP = Path("/sys/fs/cgroup/memory/pods/features-nightly")


def join_group():
    (GROUP / "cgroup.procs").write_text(str(os.getpid()))


def windows(days):
    series = np.random.default_rng(days).random(days * 1440)
    view = np.lib.stride_tricks.sliding_window_view(series, 720)
    return days, float(np.ascontiguousarray(view[: days * 400]).std())


def events():
    kills = int((GROUP / "memory.oom_control").read_text().split()[-1])
    return {"oom_kill": kills, "max": int((GROUP / "memory.failcnt").read_text())}


def main():
    with ProcessPoolExecutor(1, initializer=join_group) as pool:
        for days, deviation in pool.map(windows, (1, 7, 14, 28, 90)):
            log.info("%d days: std of windows %.4f", days, deviation)


GROUP.mkdir(parents=True, exist_ok=True)
(GROUP / "memory.limit_in_bytes").write_text(str(96 << 20))
code = 0
try:
    main()
except BrokenProcessPool as error:
    time.sleep(0.2)
    seen = events()
    log.error("pool broken: %s", error)
    log.error("memory events of this pod: %s", seen)
    code = 1
time.sleep(0.2)
GROUP.rmdir()
GROUP.parent.rmdir()
sys.exit(code)
