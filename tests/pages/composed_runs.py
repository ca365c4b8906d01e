"""Records that are composed through the real writers: many ranks, many GPUs, many days."""

from __future__ import annotations

from pathlib import Path

from gpualert_common import recover
from gpualert_common.record import Record
from gpualert_common.telemetry.source import Sample, SourceEvent
from gpualert_common.telemetry.storage import TelemetryWriter
from tests.scenarios.scene import Card, Scene, flat, pci, rising, steps
from tests.stacks.composed import collective, in_own_code, make_dump

RANKS, GPUS = 64, 8
CULPRIT = 41
VARIABLES = {
    "NCCL_DEBUG": "WARN",
    "CUDA_VISIBLE_DEVICES": "0,1,2,3,4,5,6,7",
    "MASTER_PORT": "29500",
}
MACHINE = {
    "hostname": "node7",
    "kernel": "6.1.0-28-amd64",
    "machine": "x86_64",
    "cpus": 192,
    "cpus_allowed": 96,
    "memory_bytes": 2 << 40,
    "swap_bytes": 0,
    "versions": {"python": "3.11.9", "torch": "2.13.0", "numpy": "2.4.6", "cuda": "13.0"},
}


def write_cluster(home: Path, *, seconds: float = 5400.0, log: str = "") -> Record:
    """Return the record of a training of 64 ranks on 8 GPUs that hung until its time limit."""
    places = {rank: collective() for rank in range(RANKS)} | {CULPRIT: in_own_code()}
    dump = make_dump(places)
    stop = steps((0.0, 93.0), (0.8, 100.0))
    cards = [
        Card(
            load=stop,
            gauges={
                "temperature_celsius": flat(61 + index),
                "power_watts": flat(640 - 9 * index),
                "sm_clock_max_mhz": flat(1980),
            },
            counters={"throttled_thermal_ns_total": rising(4e10 if index == 5 else 0, 0.5)},
        )
        for index in range(GPUS)
    ]
    scene = Scene(
        cards=cards,
        log=log or "".join(f"step {n} loss {2.3 / (1 + n / 200):.4f}\n" for n in range(900)),
        limit="time",
        signal=15,
        code=-15,
        seconds=seconds,
        silent_s=0.2 * seconds,
        variables=VARIABLES,
        given=MACHINE,
        events=[
            *(("processes", 0.0, _identify(rank)) for rank in range(RANKS)),
            ("nvml", 0.4, _make_xid(3, 63)),
            ("processes", 0.999, _end(CULPRIT, -9)),
            ("processes", 0.999, _end(7, 1)),
        ],
        dumps=[(600.0, dump), (570.0, dump)],
        command=("torchrun", "--nproc-per-node", "8", "train.py", "--config", "llama.yaml"),
    )
    record = scene.record(home)
    _add_usage(record, record.spec.created_at, seconds)
    path = record.path
    record.close()
    found = Record.open(path)
    assert recover.recover(found) == "recovered"
    return found


def _add_usage(record: Record, began: float, seconds: float) -> None:
    """Add samples of each rank at the end of the telemetry."""
    writer = TelemetryWriter(record)
    for at_s in (0.1 * seconds, 0.9 * seconds):
        samples = [
            (
                "processes",
                Sample(
                    f"rank:{rank}",
                    {"rss_bytes": (20 << 30) + (rank << 20), "cpu_seconds_total": 1.3 * at_s},
                ),
            )
            for rank in range(RANKS)
        ]
        writer.add(began + at_s, samples)


def _identify(rank: int) -> SourceEvent:
    fields = {
        "pid": 5000 + rank,
        "name": "python",
        "rank": rank,
        "local_rank": rank % GPUS,
        "world_size": RANKS,
        "visible_gpus": VARIABLES["CUDA_VISIBLE_DEVICES"],
        "slurm_job": 4711,
    }
    return SourceEvent("rank_process", f"rank:{rank}", f"rank:{rank} is process", fields)


def _end(rank: int, code: int) -> SourceEvent:
    return SourceEvent("rank_ended", f"rank:{rank}", "ended", {"pid": 5000 + rank, "code": code})


def _make_xid(index: int, number: int) -> SourceEvent:
    fields = {"xid": number, "gpu": index, "pci": pci(index)}
    return SourceEvent("xid", f"gpu:{index}", f"Xid {number} on GPU {index}", fields)
