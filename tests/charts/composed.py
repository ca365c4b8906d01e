"""Records of runs of any length, as a supervisor and a sampler leave them, for charts.

The telemetry is written in the form that it has after its compactions: a run of thirty days has
some thousand lines.
"""

from __future__ import annotations

import json
import math
import random
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from gpualert_common.record import EXIT, INDEX, SPEC, Record
from gpualert_common.record.record import describe
from gpualert_common.spec import Ending, RunSpec
from gpualert_common.structs import Struct
from gpualert_common.telemetry.source import PERIOD_S
from gpualert_common.telemetry.storage import DENSE_SAMPLES, TELEMETRY, TIER_SAMPLES

BEGAN_AT = 1_790_000_000.0
DAY_S = 86400.0
GIB = 2.0**30
LOG = "output.log"

Numbers = Mapping[str, float]


class ComposedRun(Struct, frozen=True):
    """A run: its length, its GPUs and ranks, and the steps that its log reports.

    ``nan_from`` is the step from which the loss is NaN; ``dead_gpu`` a GPU that stops at half time;
    ``names`` of further entities of the telemetry are those of a hostile file.
    """

    length_s: float = 3600.0
    gpus: int = 1
    ranks: int = 0
    steps: int = 1000
    nan_from: int | None = None
    dead_gpu: int | None = None
    checkpoints: int = 5
    names: Sequence[str] = ()
    code: int | None = 0
    signal: int | None = None

    def compose(self, path: Path) -> Record:
        """Write the record."""
        record = Record.create(str(path), sync=False)
        spec = describe(RunSpec(("python", "train.py")), record, created_at=BEGAN_AT, host="node7")
        record.write_json(SPEC, {**spec, "logs": [LOG]})
        self._write_log(record)
        record.append_event("launched", BEGAN_AT, pid=4000, start_ticks=1)
        with open(path / TELEMETRY, "wb") as file:
            file.writelines(json.dumps(line).encode() + b"\n" for line in self._list_telemetry())
        ending = Ending(BEGAN_AT, BEGAN_AT + self.length_s)
        ending.pid, ending.code = 4000, self.code
        record.write_json(EXIT, {**ending.to_json(), "survivors": []})
        return record

    def _write_log(self, record: Record) -> None:
        """Write a line for each step, a checkpoint now and then, and the index of both."""
        noise = random.Random(7)
        log, index, size = [], [], 0
        every = max(1, self.steps // max(1, self.checkpoints))
        for step in range(1, self.steps + 1):
            value = 8 * (step + 3) ** -0.3 * (1 + noise.gauss(0, 0.02)) + 0.05
            is_lost = self.nan_from is not None and step >= self.nan_from
            line = f"step {step}/{self.steps} loss {'nan' if is_lost else f'{value:.4f}'}\n"
            if self.checkpoints and step % every == 0:
                line += f"saved checkpoint to out/step{step}.pt\n"
            log.append(line)
            size += len(line)
            index.append(
                f"{0.02 * self.length_s + 0.97 * self.length_s * step / self.steps:.1f} {size}\n"
            )
        Path(record.log_path(LOG)).write_text("".join(log))
        Path(record.log_path(INDEX)).write_text("".join(index))

    def _list_telemetry(self) -> Iterator[dict[str, object]]:
        noise = random.Random(3)
        rows = self._sample(0.0, noise)
        yield {"source": {"name": "nvml", "available": True}}
        yield {"columns": {of: list(values) for of, values in rows.items()}}
        for age_s, count in list_tiers(self.length_s):
            part = 1 - age_s / self.length_s
            values = {of: list(one.values()) for of, one in self._sample(part, noise).items()}
            line: dict[str, object] = {
                "at": round(BEGAN_AT + self.length_s - age_s, 2),
                "n": count,
                "rows": values,
            }
            if count > 1:
                line["low"] = {of: [0.95 * one for one in row] for of, row in values.items()}
                line["high"] = {
                    of: [min(100.0, 1.02 * one) if one <= 100 else 1.02 * one for one in row]
                    for of, row in values.items()
                }
            yield line

    def _sample(self, part: float, noise: random.Random) -> dict[str, Numbers]:
        found: dict[str, Numbers] = {}
        warm = min(1.0, part * 30)
        for index in range(self.gpus):
            is_dead = index == self.dead_gpu and part > 0.5
            load = 0.0 if is_dead else (85 + noise.gauss(0, 4)) * warm
            found[f"gpu:{index}"] = {
                "memory_used_bytes": (8 + 54 * warm + index % 4) * GIB,
                "memory_total_bytes": 80 * GIB,
                "sm_activity_percent": min(100.0, max(0.0, load)),
                "sm_clock_mhz": 345.0 if is_dead else 1755 + noise.gauss(0, 12),
                "sm_clock_max_mhz": 1980.0,
                "temperature_celsius": 38.0 if is_dead else 62 + 4 * math.sin(9 * part) + index % 5,
                "power_watts": 110.0 if is_dead else 640 + noise.gauss(0, 15),
                "power_limit_watts": 700.0,
            }
        elapsed_s = part * self.length_s
        for rank in range(self.ranks):
            cores = 1.1 + 0.02 * (rank % 7)
            found[f"rank:{rank}"] = {"cpu_seconds_total": cores * elapsed_s, "rss_bytes": 9 * GIB}
        used = (40 + 60 * part + noise.gauss(0, 0.4)) * GIB
        found["host"] = {
            "memory_available_bytes": 256 * GIB - used,
            "memory_total_bytes": 256 * GIB,
        }
        found["host:tree"] = {
            "rss_bytes": used - 12 * GIB,
            "cpu_seconds_total": 9.5 * elapsed_s,
            "read_bytes_total": 300 * 2**20 * elapsed_s,
            "written_bytes_total": 2**20 * elapsed_s,
        }
        return found | {name: {"cpu_seconds_total": elapsed_s} for name in self.names}


def list_tiers(length_s: float) -> list[tuple[float, int]]:
    """Return age and number of samples of each line of telemetry, the oldest first."""
    found = []
    age_s, count, left = 0.0, 1, DENSE_SAMPLES
    while age_s <= length_s:
        found.append((age_s, count))
        age_s += count * PERIOD_S
        left -= 1
        if not left:
            count, left = 2 * count, TIER_SAMPLES
    return found[::-1]
