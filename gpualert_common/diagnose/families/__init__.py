"""What each family looks for, one file each: ``judge`` yields what it finds in the evidence.

A file's docstring is its rule in words; its numbers stand in
:mod:`gpualert_common.diagnose.thresholds`.  A new family is a new file, and no list elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cache

from gpualert_common.diagnose.evidence import Evidence
from gpualert_common.diagnose.finding import Finding, Weight
from gpualert_common.plugins import load_plugins

Judge = Callable[[Evidence], Iterable[Finding]]


@cache
def load_families() -> dict[str, Judge]:
    """Return the ``judge`` function of every family, by the name of its file."""
    return {name: module.judge for name, module in load_plugins(__name__).items()}


def judge(evidence: Evidence) -> Iterator[Finding]:
    """What all families find; one that fails costs only what it would have found."""
    for name, judge_one in load_families().items():
        try:
            yield from list(judge_one(evidence))
        except Exception as error:  # noqa: BLE001 - telemetry is anybody's numbers
            because = f"{name} could not be judged: {type(error).__name__}: {error}"
            yield Finding("", Weight.WARNS, because, kind="family_failed")
