"""Pressure stall information: for how much of the time tasks waited for processor, memory, disk.

Files that everybody may read, of the host and, in a tree of cgroups of version 2, of the leader's
group.  Needs Linux 4.20 or newer with it switched on.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable

from gpualert_common.telemetry.cgroups import groups_of
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
    """How much work waits, of "host" and of "cgroup".

    Numbers: ``memory_some_percent`` (at least one task waited, the mean of ten seconds) and
    ``memory_some_seconds_total``; ``memory_full_percent`` and ``memory_full_seconds_total`` (all
    that could have run waited); the same for ``cpu`` and ``io``.
    """

    decides = (
        "supports A2, C3 and D1 by the time in which tasks waited for memory, disks, processors"
    )

    def __init__(self, subject: ObservedRun | None) -> None:
        try:
            _stalls(os.path.join(HOST, "memory"))
        except OSError as error:
            off = error.errno == errno.EOPNOTSUPP
            why = "switched off" if off else error.strerror
            raise SourceUnavailableError(f"{HOST} cannot be read: {why}", _REMEDY) from None
        group = groups_of("self" if subject is None else subject.pid).get("")
        self._places = {"host": [os.path.join(HOST, name) for name in _RESOURCES]}
        if group is not None and group.path != "/":  # that of all is the host's
            files = [os.path.join(group.levels[0], f"{name}.pressure") for name in _RESOURCES]
            self._places["cgroup"] = files

    def sample(self) -> Iterable[Sample]:
        """The stalls of now."""
        for of, files in self._places.items():
            values: dict[str, float] = {}
            for name, path in zip(_RESOURCES, files, strict=True):
                try:
                    found = _stalls(path)
                except OSError:
                    continue  # the group is gone, or has none of this kind
                values |= {f"{name}_{kind}": value for kind, value in found.items()}
            if values:
                yield Sample(of, values)


SOURCE: type[Source] = Pressure


def _stalls(path: str) -> dict[str, float]:
    """ "some" and "full" of a file such as ``some avg10=1.50 avg60=0.00 avg300=0.00 total=98765``.

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
