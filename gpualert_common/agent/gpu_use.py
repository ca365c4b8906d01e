"""The GPUs that a group of processes holds, and since when each is idle."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from gpualert_common.diagnose import thresholds
from gpualert_common.structs import Struct
from gpualert_common.telemetry.source import Sample, SourceEvent


class HeldGpu(Struct, frozen=True):
    """A GPU that a group holds: its memory there, and since when no kernel ran on the GPU."""

    bytes: float
    idle_since: float | None = None


class GpuUse:
    """The GPUs of one group, by the samples of NVML.

    ``held`` are those that it holds now, by their entity, such as "gpu:0".
    """

    def __init__(self) -> None:
        self.held: dict[str, HeldGpu] = {}
        self._ever: set[str] = set()

    @property
    def idle_since(self) -> float | None:
        """Time since which all held GPUs are idle; None if one works, or none is held."""
        times = [one.idle_since for one in self.held.values()]
        known = [at for at in times if at is not None]
        return max(known) if known and len(known) == len(times) else None

    def restore(self, idle_since: Mapping[str, float]) -> None:
        """Continue from what an earlier agent had seen."""
        self.held = {gpu: HeldGpu(0.0, at) for gpu, at in idle_since.items()}

    def concerns(self, entity: str) -> bool:
        """Return whether an entity is a GPU that the group holds or held, or a part of one."""
        return entity.partition("/")[0] in self._ever

    def update(
        self, output: Iterable[Sample | SourceEvent], used: Mapping[str, float], now: float
    ) -> None:
        """Note a sample; ``used`` are the bytes of the group on each GPU."""
        self._ever |= used.keys()
        loads = {
            one.of: one.values["utilization_percent"]
            for one in output
            if isinstance(one, Sample) and "utilization_percent" in one.values
        }
        self.held = {
            gpu: HeldGpu(size, self._find_idle_since(gpu, loads.get(gpu), now))
            for gpu, size in used.items()
        }

    def _find_idle_since(self, gpu: str, load: float | None, now: float) -> float | None:
        if load is None or load >= thresholds.IDLE_GPU_PERCENT:
            return None
        before = self.held.get(gpu)
        return now if before is None or before.idle_since is None else before.idle_since


def read_used_bytes(output: Iterable[Sample | SourceEvent]) -> dict[int, dict[str, float]]:
    """Return the bytes of each process on each GPU, by NVML's samples."""
    found: dict[int, dict[str, float]] = {}
    for one in output:
        gpu, separator, pid = one.of.partition("/pid:")
        if separator and isinstance(one, Sample) and pid.isdecimal():
            found.setdefault(int(pid), {})[gpu] = one.values.get("memory_used_bytes", 0.0)
    return found
