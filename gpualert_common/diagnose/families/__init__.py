"""What each family looks for, one file each: ``judge`` yields what it finds in the evidence.

A file's docstring is its rule in words; its numbers stand in
:mod:`gpualert_common.diagnose.thresholds`.  A new family is a new file, and no list elsewhere.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from importlib import import_module

from gpualert_common.diagnose.evidence import Evidence
from gpualert_common.diagnose.finding import Finding, Weight

Judge = Callable[[Evidence], Iterable[Finding]]


@cache
def every() -> dict[str, Judge]:
    """Each family's judgement, by the name of its file."""
    found = (name.removesuffix(".py") for name in os.listdir(os.path.dirname(__file__)))
    names = sorted(name for name in found if not name.startswith("_"))
    return {name: import_module(f"{__name__}.{name}").judge for name in names}


def judge(evidence: Evidence) -> Iterator[Finding]:
    """What all families find; one that fails costs only what it would have found."""
    for name, judge_one in every().items():
        try:
            yield from list(judge_one(evidence))
        except Exception as error:  # noqa: BLE001 - telemetry is anybody's numbers
            because = f"{name} could not be judged: {type(error).__name__}: {error}"
            yield Finding("", Weight.WARNS, because, kind="family_failed")
