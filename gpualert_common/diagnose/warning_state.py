"""State of the early warnings of one run: those that are active, were active, or are new.

The state is stored as events of the record.  So every reader of the record has it: the verdict at
the end, also if the supervisor died before, and the commands that show a live run.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from gpualert_common.codec import encode_part
from gpualert_common.diagnose import thresholds
from gpualert_common.diagnose.detection import NOT_DETECTED, Detection
from gpualert_common.diagnose.phenomena import warning_kinds
from gpualert_common.model import Disposition, Verdict, VerdictWarning
from gpualert_common.quantities import is_time
from gpualert_common.record import WARNING_RAISED, Event
from gpualert_common.spec import EARLY
from gpualert_common.structs import Struct

RAISED, RECOVERED = WARNING_RAISED, "warning_recovered"
"""Events of the record."""

SLOW = "slow"
"""Kind of the warning after which a trace or a profile may be taken."""

MOST_CHANGES = 21
"""Number of changes that are stored of one kind; odd, so that the last one raises the warning."""

_THERE_AND_BACK = 2


class _Warning(Struct):
    summary: str
    since: float
    part_of: str | None
    recovered_at: float | None = None
    changes: int = 1

    @property
    def is_active(self) -> bool:
        return self.recovered_at is None


class WarningState:
    """All warnings that were ever raised in a run, from the events of its record on."""

    def __init__(self, events: Iterable[Event] = ()) -> None:
        self._warnings: dict[str, _Warning] = {}
        for event in events:
            if event.name in (RAISED, RECOVERED):
                self._replay(event)

    def is_active(self, kind: str) -> bool:
        """Return whether the warning of that kind is raised and has not recovered."""
        return kind in self._warnings and self._warnings[kind].is_active

    def list_active(self) -> list[tuple[str, float, str]]:
        """Return kind, begin and summary of each active warning."""
        return [
            (kind, one.since, one.summary) for kind, one in self._warnings.items() if one.is_active
        ]

    def advice(self) -> list[str]:
        """Return the advice for each active warning that does not follow from another one."""
        kinds = warning_kinds()
        active = [kind for kind, one in self._warnings.items() if one.is_active and kind in kinds]
        first = [kind for kind in active if self._warnings[kind].part_of not in active]
        return [f"{self._warnings[kind].summary}: {'; '.join(kinds[kind].DO)}" for kind in first]

    # -- while the run is in progress ------------------------------------------------------

    def update(self, detections: Mapping[str, Detection], now: float) -> list[Event]:
        """Return the events that follow from *detections*; kinds without evidence are absent there.

        A kind is new once, unless it follows from another active one.
        """
        kinds = warning_kinds()

        def order(kind: str) -> tuple[int, float]:
            return len(kinds[kind].FOLLOWS), detections[kind].since

        return [
            event
            for kind in sorted(detections, key=order)
            for event in self._update_kind(kind, detections[kind], now)
        ]

    def _update_kind(self, kind: str, detection: Detection, now: float) -> Iterator[Event]:
        warning = self._warnings.get(kind)
        is_gone = detection is NOT_DETECTED
        if warning is None:
            if not is_gone:
                yield self._raise(kind, detection, now)
        elif warning.is_active is is_gone and warning.changes < MOST_CHANGES:
            warning.changes += 1
            warning.recovered_at = now if is_gone else None
            yield _event(RECOVERED if is_gone else RAISED, kind, warning, now)

    def _raise(self, kind: str, detection: Detection, now: float) -> Event:
        found = warning_kinds()[kind]
        since = detection.since or now
        above = next((one for one in sorted(found.FOLLOWS) if self._may_explain(one, since)), None)
        part_of = None if above is None else self._warnings[above].part_of or above
        self._warnings[kind] = warning = _Warning(detection.summary, since, part_of)
        shows = [encode_part(claim) for claim in detection.shows]
        news = {"news": part_of is None, "shows": shows, "do": list(detection.do or found.DO)}
        return _event(RAISED, kind, warning, now, **news)

    def _may_explain(self, kind: str, since: float) -> bool:
        """Return whether an active warning can explain another one that began at *since*."""
        if not self.is_active(kind):
            return False
        return since - self._warnings[kind].since <= thresholds.FOLLOWS_WITHIN_S

    def _replay(self, event: Event) -> None:
        kind = event.fields.get("kind")
        if not isinstance(kind, str) or not event.at:
            return
        warning = self._warnings.get(kind)
        if warning is not None:
            warning.changes += 1
            warning.recovered_at = event.at if event.name == RECOVERED else None
            return
        summary, since, part_of = (event.fields.get(name) for name in ("says", "since", "part_of"))
        if isinstance(summary, str) and is_time(since):
            part_of = part_of if isinstance(part_of, str) else None
            self._warnings[kind] = _Warning(summary, float(since), part_of)

    # -- in a verdict ----------------------------------------------------------------------

    def verdict_warnings(self, verdict: Verdict) -> list[VerdictWarning]:
        """Return each warning for the verdict, together with those that are part of it."""
        return [
            VerdictWarning(f"{EARLY}{kind}", "; then ".join(self._texts(kind, verdict)))
            for kind, warning in self._warnings.items()
            if warning.part_of not in self._warnings
        ]

    def _texts(self, kind: str, verdict: Verdict) -> Iterator[str]:
        yield _outcome(kind, self._warnings[kind], verdict)
        for other, warning in self._warnings.items():
            if warning.part_of == kind:
                yield _outcome(other, warning, verdict)


def _event(name: str, kind: str, warning: _Warning, now: float, **news: Any) -> Event:
    return Event(
        name,
        now,
        kind=kind,
        text=f"{warning.summary} since {format_minute(warning.since)}",
        says=warning.summary,
        since=warning.since,
        part_of=warning.part_of,
        **news,
    )


def _outcome(kind: str, warning: _Warning, verdict: Verdict) -> str:
    """Return the outcome of a warning: recovered, still active, or followed by its cause."""
    found = warning_kinds().get(kind)
    since = format_minute(warning.since)
    if warning.recovered_at is None:
        text = f"{warning.summary} since {since}"
    else:
        recovered = format_minute(warning.recovered_at)
        text = f"{warning.summary} from {since}, recovered at {recovered}"
    if warning.changes > _THERE_AND_BACK:
        times = warning.changes // 2
        text += f" after it had come and gone {f'{times} times' if times > 1 else 'once'}"
    if found is not None and verdict.cause in found.PREDICTS:
        return f"{text}: {verdict.cause} followed"
    if warning.recovered_at is not None:
        return f"{text}: withdrawn"
    if verdict.disposition is Disposition.COMPLETED:
        return f"{text}; the run still ended by itself"
    return text


def format_minute(at: float) -> str:
    """Return a human-readable time, to the minute."""
    try:
        return time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(at))
    except (OverflowError, ValueError, OSError):
        return "an unknown time"
