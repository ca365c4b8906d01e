"""The part of a training that is done, by the newest lines of its logs.

For a display that is updated while the training runs: it needs no history, so the last kilobytes
of a log are enough.  Where a program counts epochs and steps, the steps are those of one epoch.
"""

from __future__ import annotations

from collections.abc import Iterable

from gpualert_common.progress.bars import Bar, find_bar
from gpualert_common.progress.formats._roles import NumberRole, find_role
from gpualert_common.progress.pairs import Pair, find_pairs
from gpualert_common.regex import compile_bytes
from gpualert_common.structs import Struct

_MOST_LINE_BYTES = 500
_KERAS_BAR = compile_bytes(rb"^\s*\d+/\d+\s+(?:\[[=>.]|\xe2\x94\x81)")
_OTHER_WORK = compile_bytes(
    rb"(?i)valid|eval|test|sanity|predict|infer|sampl|generat|load|fetch|shard|sav|map|filter"
    rb"|tokeniz|process|warm"
)
"""Words of a count that belongs to no training step."""
_COUNTER_WORDS = 3

Count = tuple[int, int]
"""The number that is done, and the total."""


class Completion(Struct, frozen=True):
    """The epochs and the steps that are done, as far as the log counts them."""

    epochs: Count | None = None
    steps: Count | None = None

    @property
    def percent(self) -> float | None:
        """Return the part that is done, 0 to 100; None where no line has a total."""
        share = self.steps[0] / self.steps[1] if self.steps else 0.0
        if self.epochs is not None:
            return min(100.0, 100 * (self.epochs[0] + share) / self.epochs[1])
        return 100 * share if self.steps else None

    def __str__(self) -> str:
        """Return the counts, such as "2 of 10 epochs, 120 of 1000 steps"."""
        counts = ((self.epochs, "epochs"), (self.steps, "steps"))
        return ", ".join(f"{of[0]} of {of[1]} {unit}" for of, unit in counts if of is not None)

    def update(self, log: bytes) -> Completion:
        """Return the completion after more lines of a log; lines that were read before may recur.

        A progress bar is drawn again behind a carriage return, so each drawing is a line.
        """
        completion = self
        for line in log.replace(b"\r", b"\n").split(b"\n"):
            completion = completion._after(counts_in(line))
        return completion

    def _after(self, line: Completion) -> Completion:
        if line.epochs is not None and line.epochs != self.epochs:
            return line
        return Completion(self.epochs, line.steps or self.steps)


def counts_in(line: bytes) -> Completion:
    """Return the epochs and the steps that one line counts."""
    line = line[:_MOST_LINE_BYTES]
    if b"/" not in line and b" of " not in line:
        return Completion()
    bar = find_bar(line)
    return _counts_in_text(line) if bar is None else _counts_in_bar(bar[0])


def _counts_in_bar(bar: Bar) -> Completion:
    label = bar.label.encode()
    count = _check_count(label, bar.done, bar.total)
    if bar.unit.endswith("B/s"):  # a transfer of bytes
        return Completion()
    if find_role(label) is NumberRole.EPOCH:
        return Completion(epochs=count)
    return Completion(_begun_epoch(find_pairs(label)), count)


def _counts_in_text(line: bytes) -> Completion:
    found = find_pairs(line)
    if _KERAS_BAR.search(line):
        return Completion(steps=_check_count(b"", found[0].integer, found[0].total))
    counts = (
        _check_count(pair.name, pair.integer, pair.total)
        for before, pair in zip([None, *found], found, strict=False)
        if _counts_steps(pair, before)
    )
    return Completion(_begun_epoch(found), next(filter(None, counts), None))


def _counts_steps(pair: Pair, before: Pair | None) -> bool:
    """Return True for ``step 3/10``, and for the second number of ``Epoch: [2] [3/10]``."""
    if pair.total is None:
        return False
    is_behind_epoch = before is not None and find_role(before.name) is NumberRole.EPOCH
    if is_behind_epoch and not pair.name:
        return True
    return find_role(pair.name) > NumberRole.EPOCH


def _begun_epoch(found: Iterable[Pair]) -> Count | None:
    """Return the epochs before the one that a line names, of all epochs."""
    for pair in found:
        if find_role(pair.name) is NumberRole.EPOCH and pair.total is not None:
            begun = _check_count(pair.name, pair.integer, pair.total)
            if begun is not None:
                return max(0, begun[0] - 1), begun[1]
    return None


def _check_count(name: bytes, done: int | None, total: int | None) -> Count | None:
    words = b" ".join(name.split()[-_COUNTER_WORDS:])
    if done is None or not total or done > total or _OTHER_WORK.search(words):
        return None
    return done, total
