"""The interface of an evidence source: opened once for a run, sampled every few seconds, closed.

A source is a module in :mod:`.sources`.  Its ``SOURCE`` is a subclass of :class:`Source`, and its
file name is its name in the verdict.  A source runs in a separate process (:mod:`.sampler`) and so
may block.  Its output goes to the record; the verdict is made from the record alone.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from gpualert_common.plugins import load_plugin, plugin_names
from gpualert_common.structs import Struct, field

_SOURCES = "gpualert_common.telemetry.sources"
_EXACT_BELOW_S = 10_000

PERIOD_S = 5.0
"""Seconds between two samples of a run: cheap for a monitor, short enough for lasting faults."""


class SourceUnavailableError(Exception):
    """A source cannot be opened here: the reason, and how to make it work ("" if nothing helps)."""

    def __init__(self, why: str, remedy: str = "") -> None:
        super().__init__(why)
        self.why = why
        self.remedy = remedy


class ObservedRun(Struct, frozen=True):
    """The run that is sampled.

    ``pid`` is the process number of the leader.  ``marker`` is the name of the variable that every
    process of the run carries (:func:`gpualert_common.processes.marker.run_marker`).
    ``started_at`` is the time at which the record was made, just before the launch, in seconds
    since the epoch.  ``logs`` are the absolute paths of the logs.
    """

    run_id: str
    pid: int
    marker: str
    started_at: float
    record_path: str
    cwd: str | None = None
    logs: tuple[str, ...] = ()


class Sample(Struct, frozen=True):
    """Numbers of one entity at one time: ``of`` names the entity, such as "gpu:0", "host" or
    "disk:log".

    The names contain the units: ``memory_used_bytes``, ``sm_clock_mhz``, ``utilization_percent``.
    A name that ends in ``_total`` is a counter, which never falls; all others are gauges.
    """

    of: str
    values: Mapping[str, float]


class SourceEvent(Struct, frozen=True):
    """An event that a source reports: ``what`` is its kind, ``text`` is for people.

    ``at`` is in seconds since the epoch; None means now.
    """

    what: str
    of: str
    text: str
    fields: Mapping[str, Any] = field(default_factory=dict)
    at: float | None = None


class Source(ABC):
    """One evidence source.  Any method may raise; the run is not affected."""

    decides: ClassVar[str]
    """The failures that it decides or supports, and by which evidence: a phrase for ``gpualert
    doctor``."""

    @abstractmethod
    def __init__(self, run: ObservedRun | None) -> None:
        """Open the source; with None only to check availability, for ``gpualert doctor``.

        Raises SourceUnavailableError.
        """

    @property
    def facts(self) -> Mapping[str, Any]:
        """The facts that do not change during the run: versions, names, limits."""
        return {}

    @abstractmethod
    def sample(self) -> Iterable[Sample | SourceEvent]:
        """Return the present samples and events; called every ``PERIOD_S``, and once after the
        run's end."""

    def close(self) -> None:  # noqa: B027 - most hold no resources
        """Release the resources of the source."""


def round_counter_s(seconds: float) -> float:
    """Return a counter of seconds rounded to hundredths, and to whole seconds from 10,000 s on.

    Samples keep six digits, which cannot hold more.
    """
    return round(seconds, 2) if seconds < _EXACT_BELOW_S else int(seconds)


def list_sources() -> list[str]:
    """Return the names of all evidence sources."""
    return plugin_names(_SOURCES)


def load_source_class(name: str) -> type[Source]:
    """Return the evidence source called *name*.  Every exception of its import passes through."""
    found: type[Source] = load_plugin(_SOURCES, name).SOURCE
    return found
