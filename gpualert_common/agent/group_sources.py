"""Evidence sources of one group of processes, opened in the agent itself."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import suppress

from gpualert_common.processes.procfs import ProcessStat
from gpualert_common.telemetry.source import (
    ObservedRun,
    Sample,
    Source,
    SourceEvent,
    SourceUnavailableError,
    load_source_class,
)
from gpualert_common.telemetry.sources.processes import Processes

_OTHERS = ("cgroup", "kernel_log", "memory")
"""Besides the processes, and the GPUs, which the agent samples for all groups at once: cheap, and
needed for the verdict at the end."""

SourceOutput = tuple[str, Sample | SourceEvent]


class GroupSources:
    """The sources of one group; ``availability`` is that of each when it was opened."""

    def __init__(self, run: ObservedRun) -> None:
        self._processes = Processes(run)
        self._sources: dict[str, Source] = {"processes": self._processes}
        self.availability: dict[str, Mapping[str, object]] = {}
        for name in _OTHERS:
            try:
                self._sources[name] = load_source_class(name)(run)
            except SourceUnavailableError as error:
                self._note_absence(name, error.why, error.remedy)
            except Exception as error:  # noqa: BLE001 - the boundary of each source
                self._note_absence(name, f"{type(error).__name__}: {error}")
        for name, source in self._sources.items():
            self.availability[name] = {"available": True, "facts": dict(source.facts)}

    def include(self, one: ProcessStat) -> None:
        """Count a process as one of the group, with all that it starts from now on."""
        self._processes.include(one)

    def sample(self) -> tuple[float, list[SourceOutput]]:
        """Return the time and the samples of all sources; one that fails is left out from then."""
        at = time.time()
        found: list[SourceOutput] = []
        for name in list(self._sources):
            try:
                found += [(name, one) for one in self._sources[name].sample()]
            except Exception as error:  # noqa: BLE001 - the boundary of each source
                text = f"{name} failed and was closed: {type(error).__name__}: {error}"
                found.append((name, SourceEvent("source_failed", "host", text)))
                _close(self._sources.pop(name))
        return at, found

    def close(self) -> None:
        """Close the sources."""
        while self._sources:
            _close(self._sources.popitem()[1])

    def _note_absence(self, name: str, why: str, remedy: str = "") -> None:
        self.availability[name] = {"available": False, "why": why, "remedy": remedy}


def _close(source: Source) -> None:
    with suppress(Exception):  # the boundary of each source
        source.close()
