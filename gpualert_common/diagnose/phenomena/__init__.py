"""Phenomena that explain the end of a run, or warn about it: a folder for each.

A file of a folder is a family of failures, or, with a name that ends in ``_warning``, the detector
of one kind of warning; files that begin with ``_`` hold shared code.  The docstring of a file is
its rule, and its numbers are in :mod:`gpualert_common.diagnose.thresholds`.  A new family or
warning is a new file, and needs no entry elsewhere.

A family has ``diagnose``, which yields its findings.  A warning has

===========  ======================================================================
detect       from the evidence of a run in progress: a detection, ``NOT_DETECTED``, or
             None if the evidence does not show it
DO           advice for immediate action
FOLLOWS      kinds of warnings of which this one is a consequence: it is not sent after them
PREDICTS    causes that it announces
===========  ======================================================================
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import Any, Protocol

from gpualert_common.diagnose.detection import Detection
from gpualert_common.diagnose.evidence import Evidence
from gpualert_common.diagnose.finding import Finding, Weight
from gpualert_common.plugins import load_plugins

_WARNING = "_warning"

Family = Callable[[Evidence], Iterable[Finding]]


class WarningKind(Protocol):
    """A module that detects one kind of warning."""

    DO: tuple[str, ...]
    FOLLOWS: frozenset[str]
    PREDICTS: frozenset[str]
    __name__: str

    def detect(self, evidence: Evidence) -> Detection | None:
        """Return the detection, ``NOT_DETECTED``, or None if the evidence does not show it."""


@cache
def _modules() -> dict[str, Any]:
    """Return the modules of all folders, by the names of their files, in their order."""
    here = os.path.dirname(__file__)
    folders = [
        name
        for name in os.listdir(here)
        if not name.startswith("_") and os.path.isdir(os.path.join(here, name))
    ]
    modules: dict[str, Any] = {}
    for folder in folders:
        modules |= load_plugins(f"{__name__}.{folder}")
    return dict(sorted(modules.items()))


@cache
def families() -> dict[str, Family]:
    """Return the function of each family, by the name of its file."""
    return {
        name: module.diagnose for name, module in _modules().items() if not name.endswith(_WARNING)
    }


@cache
def warning_kinds() -> dict[str, WarningKind]:
    """Return each kind of warning, by its name."""
    return {
        name.removesuffix(_WARNING): module
        for name, module in _modules().items()
        if name.endswith(_WARNING)
    }


def diagnose_families(evidence: Evidence) -> Iterator[Finding]:
    """Yield the findings of all families; an error in one loses only its own findings."""
    for name, diagnose in families().items():
        try:
            yield from list(diagnose(evidence))
        except Exception as error:  # noqa: BLE001 - telemetry may hold any numbers
            because = f"{name} failed: {type(error).__name__}: {error}"
            yield Finding("", Weight.WARNS, because, kind="family_failed")


def detect_warnings(evidence: Evidence) -> Iterator[tuple[str, Detection | Exception]]:
    """Yield the detection of each kind that the evidence shows, or the error in its detector."""
    for name, kind in warning_kinds().items():
        try:
            detection = kind.detect(evidence)
        except Exception as error:  # noqa: BLE001 - telemetry may hold any numbers
            yield name, error
            continue
        if detection is not None:
            yield name, detection
