"""What an evidence source is: opened once for a run, sampled every few seconds, closed.

A source is a module in :mod:`.sources` whose ``SOURCE`` is a class of this kind; its file name is
its name in the verdict.  It works in a process of its own beside the run (:mod:`.process`), and so
may block; what it yields goes to the record, and the verdict is made from that alone.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from gpualert_common.plugins import load_plugin, plugin_names

_SOURCES = "gpualert_common.telemetry.sources"
_EXACT_BELOW_S = 10_000

PERIOD_S = 5.0
"""Between two samples of a run: what costs a monitor nothing, and misses no lasting trouble."""


class SourceUnavailableError(Exception):
    """A source that cannot be had here: why, and what would make it work ("" where nothing)."""

    def __init__(self, why: str, remedy: str = "") -> None:
        super().__init__(why)
        self.why = why
        self.remedy = remedy


@dataclass(frozen=True, slots=True)
class ObservedRun:
    """The run that is looked at.

    ``pid`` is the leader's, ``mark`` the name of the variable that every process of the run carries
    (:func:`gpualert_common.processes.marker.run_marker`), ``started_at`` when its record was made,
    just before the launch, in seconds since the epoch, ``logs`` the absolute paths of its logs.
    """

    run_id: str
    pid: int
    mark: str
    started_at: float
    record_path: str
    cwd: str | None = None
    logs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Sample:
    """Numbers of one thing at one moment: ``of`` names it, as in "gpu:0", "host" or "disk:log".

    Units stand in the names: ``memory_used_bytes``, ``sm_clock_mhz``, ``utilization_percent``.  A
    name that ends in ``_total`` is a counter, which only ever grows; all others are gauges.
    """

    of: str
    values: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class SourceEvent:
    """Something that happened, or was noticed: ``what`` names the kind, ``text`` is for people.

    ``at`` is in seconds since the epoch, None for now.
    """

    what: str
    of: str
    text: str
    fields: Mapping[str, Any] = field(default_factory=dict)
    at: float | None = None


class Source(ABC):
    """One evidence source.  Any of its methods may raise; the run does not notice."""

    decides: ClassVar[str]
    """Which families it decides or supports, and by what, in a sentence for ``gpualert doctor``."""

    @abstractmethod
    def __init__(self, subject: ObservedRun | None) -> None:
        """Open it; None only to see whether it can be had, for ``gpualert doctor``.

        Raises UnavailableError.
        """

    @property
    def facts(self) -> Mapping[str, Any]:
        """What does not change while the run goes on: versions, names, limits."""
        return {}

    @abstractmethod
    def sample(self) -> Iterable[Sample | SourceEvent]:
        """What is to be seen now; called every ``PERIOD_S``, and once more after the run's end."""

    def close(self) -> None:  # noqa: B027 - most hold nothing
        """Let go of what it holds."""


def round_counter_s(seconds: float) -> float:
    """Return a counter of seconds in hundredths, and in whole ones above 10,000 s.

    Samples keep six digits, which would not hold more.
    """
    return round(seconds, 2) if seconds < _EXACT_BELOW_S else int(seconds)


def source_names() -> list[str]:
    """Return the names of all evidence sources."""
    return plugin_names(_SOURCES)


def source_class(name: str) -> type[Source]:
    """Return the evidence source called *name*.  Every exception of its import passes through."""
    found: type[Source] = load_plugin(_SOURCES, name).SOURCE
    return found
