"""CPU and memory that the merging of one job takes: in a process of its own, from real files.

``python -m tests.simulation.merging_cost FOLDER KEY NOW`` merges the digests in a job directory and
prints the costs as JSON.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from gpualert_common.job_store.opening import open_store
from gpualert_common.jobs.job_directory import JobDirectory
from gpualert_common.jobs.reading.job_reading import JobReader
from tests.simulation.store import StorePlace

_SHARED_MEMORY = Path("/dev/shm")


@dataclass(frozen=True)
class MergingCost:
    """Costs of merging; ``base_mb`` is the memory of the process before it read a digest."""

    digests: int
    stored_bytes: int
    cpu_s: float
    seconds: float
    peak_mb: float
    base_mb: float


def measure_merging(place: StorePlace, key: str, now: float) -> MergingCost:
    """Return the costs of merging the files of a simulated job, in a folder in memory."""
    where = _SHARED_MEMORY if _SHARED_MEMORY.is_dir() else None
    with tempfile.TemporaryDirectory(dir=where) as home:
        folder = f"{key}/digests"
        store = open_store(home)
        for name, (data, at) in place.folders[folder].items():
            store.write(f"{folder}/{name}", data)
            os.utime(Path(home, folder, name), (at, at))
        command = [sys.executable, "-m", __spec__.name, home, key, repr(now)]
        done = subprocess.run(command, check=True, capture_output=True, timeout=120)
    return MergingCost(**json.loads(done.stdout))


def merge(home: str, key: str, now: float) -> MergingCost:
    """Return the costs of merging in this process."""
    reader = JobReader(JobDirectory(open_store(home), key))
    base_mb, began, cpu = _peak_mb(), time.monotonic(), time.process_time()
    while not reader.read_batch():
        pass
    reader.conclude(now)
    files = list(Path(home, key, "digests").iterdir())
    return MergingCost(
        digests=len(files),
        stored_bytes=sum(one.stat().st_size for one in files),
        cpu_s=time.process_time() - cpu,
        seconds=time.monotonic() - began,
        peak_mb=_peak_mb(),
        base_mb=base_mb,
    )


def _peak_mb() -> float:
    """Return the peak of the memory of this program; ``ru_maxrss`` may be that of its parent."""
    status = Path("/proc/self/status").read_text()
    kilobytes = status.partition("VmHWM:")[2].split()[0]
    return int(kilobytes) / 1024


if __name__ == "__main__":
    print(json.dumps(asdict(merge(sys.argv[1], sys.argv[2], float(sys.argv[3])))))
