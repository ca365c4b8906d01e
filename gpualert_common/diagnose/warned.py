"""The early warnings of one run: what holds now, what held, and what of it is news.

They stand in the record's events, so that whoever reads those knows as much: the verdict at the
end, also when its supervisor died before, and whoever is told of them.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from gpualert_common.codec import encode_part
from gpualert_common.diagnose import early
from gpualert_common.diagnose.early import FINE, Sign
from gpualert_common.model import Disposition, Verdict, VerdictWarning
from gpualert_common.spec import EARLY

RAISED, RECOVERED = "warning_raised", "warning_recovered"
"""Events of the record."""
MOST_CHANGES = 21
"""What comes and goes more often is told to have come and gone, and to hold: an odd number."""
FOLLOWS_WITHIN_S = 3600.0
"""Watchdogs give up after half an hour at most; what begins later than that has another cause."""
_ONCE = 2
"""There and back again."""


@dataclass(slots=True)
class _State:
    says: str
    since: float
    part_of: str | None
    recovered_at: float | None = None
    changes: int = 1

    @property
    def is_up(self) -> bool:
        return self.recovered_at is None


class Warned:
    """All kinds that were ever raised in a run, from the events of its record on."""

    def __init__(self, events: Iterable[Mapping[str, Any]] = ()) -> None:
        self._states: dict[str, _State] = {}
        for event in events:
            if event.get("event") in (RAISED, RECOVERED):
                self._replay(event)

    def holds(self, kind: str) -> bool:
        """True for a warning that is up."""
        return kind in self._states and self._states[kind].is_up

    def advice(self) -> list[str]:
        """For each that is up, but for what follows from another: what it is, and what to do."""
        kinds = early.load_kinds()
        up = [kind for kind, state in self._states.items() if state.is_up and kind in kinds]
        first = [kind for kind in up if self._states[kind].part_of not in up]
        return [f"{self._states[kind].says}: {'; '.join(kinds[kind].DO)}" for kind in first]

    # -- while the run goes on -------------------------------------------------------------

    def see(self, signs: Mapping[str, Sign], now: float) -> list[dict[str, Any]]:
        """The events that follow from what is seen now; kinds that nobody can tell are absent.

        A kind is news once, unless it follows from another one that is up.
        """
        kinds = early.load_kinds()
        first = sorted(signs, key=lambda kind: (len(kinds[kind].FOLLOWS), signs[kind].since))
        return [event for kind in first for event in self._see(kind, signs[kind], now)]

    def _see(self, kind: str, sign: Sign, now: float) -> Iterator[dict[str, Any]]:
        state = self._states.get(kind)
        if state is None and sign is not FINE:
            yield self._raise(kind, sign, now)
        elif state is not None and state.is_up is (sign is FINE) and state.changes < MOST_CHANGES:
            state.changes += 1
            state.recovered_at = now if sign is FINE else None
            yield _event(RECOVERED if sign is FINE else RAISED, kind, state, now)

    def _raise(self, kind: str, sign: Sign, now: float) -> dict[str, Any]:
        found = early.load_kinds()[kind]
        since = sign.since or now
        above = next((one for one in sorted(found.FOLLOWS) if self._led_to(one, since)), None)
        part_of = None if above is None else self._states[above].part_of or above
        self._states[kind] = state = _State(sign.says, since, part_of)
        return {
            **_event(RAISED, kind, state, now),
            "news": part_of is None,
            "shows": [encode_part(claim) for claim in sign.shows],
            "do": list(found.DO),
        }

    def _led_to(self, kind: str, since: float) -> bool:
        """Whether that one is up, and may be why another one began then."""
        return self.holds(kind) and since - self._states[kind].since <= FOLLOWS_WITHIN_S

    def _replay(self, event: Mapping[str, Any]) -> None:
        kind, at = event.get("kind"), event.get("at")
        if not isinstance(kind, str) or not isinstance(at, int | float):
            return
        state = self._states.get(kind)
        if state is None:
            says, since, part_of = (event.get(name) for name in ("says", "since", "part_of"))
            if isinstance(says, str) and isinstance(since, int | float):
                part_of = part_of if isinstance(part_of, str) else None
                self._states[kind] = _State(says, float(since), part_of)
        else:
            state.changes += 1
            state.recovered_at = float(at) if event["event"] == RECOVERED else None

    # -- in a verdict ----------------------------------------------------------------------

    def told(self, verdict: Verdict) -> list[VerdictWarning]:
        """Return each as a warning of the verdict, with those that were part of it."""
        return [
            VerdictWarning(f"{EARLY}{kind}", "; then ".join(self._texts(kind, verdict)))
            for kind, state in self._states.items()
            if state.part_of not in self._states
        ]

    def _texts(self, kind: str, verdict: Verdict) -> Iterator[str]:
        yield _text(kind, self._states[kind], verdict)
        for other, state in self._states.items():
            if state.part_of == kind:
                yield _text(other, state, verdict)


def _event(event: str, kind: str, state: _State, now: float) -> dict[str, Any]:
    return {
        "event": event,
        "at": now,
        "kind": kind,
        "text": f"{state.says} since {moment(state.since)}",
        "says": state.says,
        "since": state.since,
        "part_of": state.part_of,
    }


def _text(kind: str, state: _State, verdict: Verdict) -> str:
    found = early.load_kinds().get(kind)
    foretold = found is not None and verdict.cause in found.FORETELLS
    since = moment(state.since)
    if state.recovered_at is None:
        said = f"{state.says} since {since}"
    else:
        said = f"{state.says} from {since}, recovered at {moment(state.recovered_at)}"
    if state.changes > _ONCE:
        times = state.changes // 2
        said += f" after it had come and gone {f'{times} times' if times > 1 else 'once'}"
    if foretold:
        return f"{said}: it came to {verdict.cause}"
    if state.recovered_at is not None:
        return f"{said}: withdrawn"
    if verdict.disposition is Disposition.COMPLETED:
        return f"{said}; the run ended by itself all the same"
    return said


def moment(at: float) -> str:
    """A time for people, to the minute."""
    try:
        return time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(at))
    except (OverflowError, ValueError, OSError):
        return "an unknown time"
