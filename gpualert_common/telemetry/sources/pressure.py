"""Pressure stall information: the share of time in which tasks waited for processor, memory, disk.

Reads files that everybody may read: of the host and, with cgroups of version 2, of the leader's
group.  Needs Linux 4.20 or newer with pressure stall information enabled.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable

from gpualert_common.telemetry.cgroups import find_cgroups
from gpualert_common.telemetry.source import (
    ObservedRun,
    Sample,
    Source,
    SourceUnavailableError,
    round_counter_s,
)

HOST = "/proc/pressure"

_RESOURCES = ("cpu", "memory", "io")
_REMEDY = "start the kernel with psi=1; it needs Linux 4.20 or newer with CONFIG_PSI"


class Pressure(Source):
    """Waiting work, of "host" and of "cgroup".

    Numbers: ``memory_some_percent`` (at least one task waited, mean over ten seconds) and
    ``memory_some_seconds_total``; ``memory_full_percent`` and ``memory_full_seconds_total`` (all
    runnable tasks waited); the same for ``cpu`` and ``io``.
    """

    decides = (
        "supports kills for memory, hangs and unused GPUs, by the time in which tasks waited for "
        "memory, disks and processors"
    )

    def __init__(self, run: ObservedRun | None) -> None:
        try:
            _read_stalls(os.path.join(HOST, "memory"))
        except OSError as error:
            is_off = error.errno == errno.EOPNOTSUPP
            why = "switched off" if is_off else error.strerror
            raise SourceUnavailableError(f"{HOST} cannot be read: {why}", _REMEDY) from None
        group = find_cgroups("self" if run is None else run.pid).get("")
        self._files = {"host": [os.path.join(HOST, name) for name in _RESOURCES]}
        if group is not None and group.path != "/":  # the root group equals the host
            files = [os.path.join(group.levels[0], f"{name}.pressure") for name in _RESOURCES]
            self._files["cgroup"] = files

    def sample(self) -> Iterable[Sample]:
        """Yield the present stalls."""
        for of, files in self._files.items():
            values: dict[str, float] = {}
            for name, path in zip(_RESOURCES, files, strict=True):
                try:
                    found = _read_stalls(path)
                except OSError:
                    continue  # the group is gone or lacks this file
                values |= {f"{name}_{kind}": value for kind, value in found.items()}
            if values:
                yield Sample(of, values)


SOURCE: type[Source] = Pressure


def _read_stalls(path: str) -> dict[str, float]:
    """Return "some" and "full" of a file such as ``some avg10=1.50 avg60=0.00 avg300=0.00
    total=98765``.

    The total is in microseconds.  Raises OSError.
    """
    found: dict[str, float] = {}
    with open(path, "rb", buffering=0) as file:
        lines = file.read().decode("ascii", "replace").splitlines()
    for line in lines:
        kind, *pairs = line.split()
        values = dict(pair.split("=", 1) for pair in pairs)
        found[f"{kind}_percent"] = float(values["avg10"])
        found[f"{kind}_seconds_total"] = round_counter_s(int(values["total"]) / 1e6)
    return found
