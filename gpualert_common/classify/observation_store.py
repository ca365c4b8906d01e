"""The observations of one log: the first and the last of each pattern, and their number."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable

from gpualert_common.classify.observations import Observation
from gpualert_common.classify.rules import RulePattern
from gpualert_common.structs import Struct, field

_MAX_FIRST = 4
_MAX_LAST = 4


class _Occurrences(Struct):
    """Observations of one pattern."""

    first: list[Observation] = field(default_factory=list)
    last: deque[Observation] = field(default_factory=lambda: deque(maxlen=_MAX_LAST))
    count: int = 0

    @property
    def newest(self) -> Observation | None:
        return self.last[-1] if self.last else self.first[-1] if self.first else None

    def add(self, observation: Observation) -> None:
        self.count += 1
        kept = self.first if len(self.first) < _MAX_FIRST else self.last
        kept.append(observation)


class ObservationStore:
    """Counts each pattern up to *limit*; then the pattern is exhausted.

    Observations in a line that may belong to the message of an exception are held back until the
    message has ended: what its whole text shows counts only once.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._of_pattern: dict[str, _Occurrences] = {}
        self._held: dict[str, dict[str, list[Observation]]] = {}
        self._in_exceptions: Counter[str] = Counter()

    @property
    def observations(self) -> list[Observation]:
        """The kept observations of lines, pattern by pattern."""
        kept = self._of_pattern.values()
        return [observation for one in kept for observation in (*one.first, *one.last)]

    @property
    def counts(self) -> dict[str, int]:
        """Number of observations by pattern id, in lines and in exceptions."""
        counts = self._in_exceptions.copy()
        counts.update({pattern_id: one.count for pattern_id, one in self._of_pattern.items()})
        return dict(counts)

    def is_exhausted(self, pattern: RulePattern) -> bool:
        """True when *pattern* was observed so often that no more is counted."""
        found = self._of_pattern.get(pattern.id)
        return found is not None and found.count >= self._limit

    def add(self, observations: Iterable[Observation]) -> None:
        """Count and keep observations of lines."""
        for one in observations:
            found = self._of_pattern.setdefault(one.pattern.id, _Occurrences())
            if found.count < self._limit:
                found.add(one)

    def hold(self, stream: str, observations: Iterable[Observation]) -> None:
        """Hold back observations of a line that may belong to a message of *stream*."""
        for one in observations:
            held = self._held.setdefault(stream, {}).setdefault(one.pattern.id, [])
            if len(held) < self._limit:
                held.append(one)

    def add_exception(self, stream: str, observations: Iterable[Observation]) -> None:
        """Count the observations of an exception of *stream* instead of those held back for it."""
        ids = [one.pattern.id for one in observations]
        self._in_exceptions.update(ids)
        for pattern_id, held in self._held.pop(stream, {}).items():
            if pattern_id not in ids:
                self.add(held)

    def extend(self, observations: Iterable[Observation]) -> None:
        """Keep later observations of lines as the last ones of their patterns, without counting."""
        for one in observations:
            found = self._of_pattern.setdefault(one.pattern.id, _Occurrences())
            if not found.newest or one.place > found.newest.place:
                found.last.append(one)
