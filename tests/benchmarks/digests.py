"""Cost of the digests of a run: processor time, launch, exit, and bytes in the job directory."""

from __future__ import annotations

import json
import signal
import statistics
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from gpualert_common.jobs.digests.digest import MOST_BYTES
from tests.benchmarks.bench import Bench
from tests.benchmarks.measure import Row, interleave
from tests.benchmarks.observing import children_cpu_ns, cpu_ns, simulate_gpus
from tests.benchmarks.restraint import descendants

RANKS = 8
MOST_PERCENT = 0.5
MOST_ADDED_PERCENT = 2.5
"""The digests, and the readings of the stacks of all ranks: these take 2 % at most."""
_SETTLING_S = 8
"""Time until the helper has started, and written its first two digests."""
_MEASURED_S = 40
"""Four renewals at the interval of a small job."""
_LAUNCHES = 10
_WITHIN_S = 60.0
_HELPER = b"gpualert_common.jobs.renewal.renewal_program"
_IDLE_RANK = "import time\ndef wait_for_peers():\n    time.sleep(1000)\nwait_for_peers()"
_START_RANKS = 'for rank in $(seq 0 "$1"); do RANK=$rank WORLD_SIZE=$2 "$0" -c "$3" & done; wait'


def measure(bench: Bench) -> Row:
    """Measure runs with a job directory and without one in turn, then the size of a digest."""
    row = Row("digests of a run in a job directory, beside a run without one")
    place = ("--job", "train", "--job-dir", str(bench.scratch / "jobs"))
    options: Mapping[str, tuple[str, ...]] = {"with digests": place, "without": ()}
    for what, unit, rounds, way in (
        ("launch and end of true", "ms", 10, _time_launch),
        ("end of a run of 3 s", "ms", 10, _time_end),
        ("all our processes", "% of a core", 3, _measure_all),
        (f"all our processes, {RANKS} ranks of Python", "% of a core", 3, _measure_with_ranks),
    ):
        ways = {name: way(bench, given) for name, given in options.items()}
        found = interleave(ways, bench.amount(rounds, 1))
        medians = {
            name: row.add(f"{what}, {name}", figures, unit).median
            for name, figures in found.items()
        }
    added = medians["with digests"] - medians["without"]  # of the last one, with ranks
    row.promise("added, stacks of the ranks read", added, MOST_ADDED_PERCENT, "% of a core")
    helper = row.add("the helper process", _measure_helper(bench, place), "% of a core")
    row.promise("the helper process", helper.median, MOST_PERCENT, "% of a core")
    sizes = _measure_sizes(bench, place)
    for name, size in sizes.items():
        row.add(name, [size / 1e3], "kB")
    row.promise("a digest", max(sizes.values()) / 1e3, MOST_BYTES / 1e3, "kB")
    row.notes.append("the job directory is on the same disk as the records; one digest each 10 s")
    return row


def _time_launch(bench: Bench, options: tuple[str, ...]) -> Callable[[], float]:
    """Return a way that runs a command without work several times: its median in ms."""

    def run() -> float:
        times = [_time_run(bench, options, "true") for _run in range(bench.amount(_LAUNCHES, 2))]
        return 1000 * statistics.median(times)

    return run


def _time_end(bench: Bench, options: tuple[str, ...]) -> Callable[[], float]:
    """Return a way that runs a command of 3 s, which fails: what is added to it in ms."""
    return lambda: 1000 * (_time_run(bench, options, "sh", "-c", "sleep 3; exit 3") - 3)


def _time_run(bench: Bench, options: tuple[str, ...], *command: str) -> float:
    began = time.perf_counter()
    subprocess.run(
        [bench.ours.program, "run", *options, "--", *command],
        cwd=bench.scratch,
        env=bench.environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=False,
    )
    return time.perf_counter() - began


def _measure_all(
    bench: Bench, options: tuple[str, ...], command: list[str] | None = None
) -> Callable[[], float]:
    """Return a way that measures all processes of ours next to a command, else a quiet training."""

    def run() -> float:
        with _start(bench, options, command or bench.child("quiet", 1000)) as pid:
            time.sleep(bench.amount(_SETTLING_S, 3))
            return _percent(bench, [pid, *(one for one in descendants(pid) if not _trains(one))])

    return run


def _measure_with_ranks(bench: Bench, options: tuple[str, ...]) -> Callable[[], float]:
    """Return a way that measures all processes of ours next to several ranks that do nothing."""
    return _measure_all(bench, options, _ranks_command(bench))


def _ranks_command(bench: Bench) -> list[str]:
    """Return a command that runs ranks of Python."""
    return ["sh", "-c", _START_RANKS, bench.ours.python, str(RANKS - 1), str(RANKS), _IDLE_RANK]


def _measure_helper(bench: Bench, options: tuple[str, ...]) -> list[float]:
    """Return the shares of a core that the helper takes for the digests alone, in one run."""
    with _start(bench, options, bench.child("quiet", 1000)) as pid:
        time.sleep(bench.amount(_SETTLING_S, 3))
        helpers = [one for one in descendants(pid) if _HELPER in _arguments(one)]
        return [_percent(bench, helpers) for _part in range(bench.amount(3, 1))]


def _percent(bench: Bench, processes: list[int]) -> float:
    seconds = bench.amount(_MEASURED_S, 1)
    before = _cpu_ns(processes)
    time.sleep(seconds)
    return (_cpu_ns(processes) - before) / 1e9 / seconds * 100


def _cpu_ns(processes: list[int]) -> int:
    """Return the CPU time of processes, with that of the programs that they ran, as py-spy."""
    return sum(_cpu_of_one_ns(one) for one in processes)


def _cpu_of_one_ns(pid: int) -> int:
    """Return the time of a process; 0 for one that has ended, whose parent has its time."""
    try:
        return cpu_ns(pid) + children_cpu_ns(pid)
    except OSError:
        return 0


def _measure_sizes(bench: Bench, options: tuple[str, ...]) -> dict[str, int]:
    """Return the sizes of a live digest of idle ranks with GPUs and stacks, and of the last one."""
    with _start(bench, options, _ranks_command(bench), simulate_gpus(bench)) as pid:
        live = _await_digest(bench, _has_all_ranks)
        subprocess.run(
            [bench.ours.program, "stacks"],
            env=bench.environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            check=False,
        )
        stacked = _await_digest(bench, lambda found: found["stacks"])
        assert pid
    last = _await_digest(bench, lambda found: found["verdict"])
    names = (f"{RANKS} ranks, {RANKS} GPUs", "with stacks", "the last one, with the verdict")
    return dict(zip((f"a digest: {name}" for name in names), (live, stacked, last), strict=True))


def _has_all_ranks(digest: dict[str, object]) -> bool:
    ranks = digest["ranks"]
    return isinstance(ranks, list) and len(ranks) == RANKS and digest["telemetry"] is not None


def _await_digest(bench: Bench, is_wanted: Callable[[dict[str, object]], object]) -> int:
    """Return the size of the newest digest once it has the wanted part."""
    deadline = time.monotonic() + _WITHIN_S
    while time.monotonic() < deadline:
        files = sorted((bench.scratch / "jobs" / "job-train" / "digests").glob("*.json"))
        if files and is_wanted(json.loads(files[-1].read_bytes())):
            return files[-1].stat().st_size
        time.sleep(0.1)
    raise TimeoutError("the digest has no such part")


@contextmanager
def _start(
    bench: Bench,
    options: tuple[str, ...],
    command: list[str],
    machine: Mapping[str, str] | None = None,
) -> Iterator[int]:
    """Run a command under ``gpualert run``, and stop it; yields the number of the supervisor."""
    process = subprocess.Popen(
        [bench.ours.program, "run", "--grace", "1s", *options, "--", *command],
        cwd=bench.scratch,
        env={**bench.environment, **(machine or {})},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield process.pid
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait()


def _arguments(pid: int) -> list[bytes]:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return []


def _trains(pid: int) -> bool:
    arguments = _arguments(pid)
    is_rank = any(one in arguments for one in (_START_RANKS.encode(), _IDLE_RANK.encode()))
    return is_rank or any(one.endswith(b"child.py") for one in arguments[:4])
