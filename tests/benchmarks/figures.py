"""Files of figures: the rows that were measured, each with its date and its machine."""

from __future__ import annotations

import os
import platform
import re
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import msgspec

from tests.benchmarks.measure import Limit, Row

KEPT = Path(__file__).with_name("kept.json")
"""The figures that docs/performance.md shows and that ``make nightly`` compares with."""

MOST_LOSS = 2.0
"""Times that a ratio may become worse; less is noise of a shared machine."""


@dataclass(frozen=True, slots=True)
class Measurement:
    """One row as it was measured on one day and one machine."""

    date: str
    machine: str
    row: Row


Figures: TypeAlias = dict[str, Measurement]
"""Measurements by the names of their rows."""


def read_figures(path: Path) -> Figures:
    """Return the figures of a file."""
    return msgspec.json.decode(path.read_bytes(), type=Figures)


def write_figures(path: Path, figures: Figures) -> None:
    """Write a file of figures, with line breaks for diffs."""
    path.write_bytes(msgspec.json.format(msgspec.json.encode(figures), indent=1) + b"\n")


def stamp(row: Row) -> Measurement:
    """Return *row* with the date and the machine of now."""
    return Measurement(time.strftime("%Y-%m-%d", time.gmtime()), describe_machine(), row)


def describe_machine() -> str:
    """Return processor, kernel and Python: the kind of machine, not its name."""
    model = platform.machine()
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            model = line.partition(":")[2].strip()
            break
    kernel = re.split("[-+]", platform.release())[0]
    cores = os.cpu_count()
    return f"{model}, {cores} cores, Linux {kernel}, Python {platform.python_version()}"


def find_losses(kept: Row, now: Row) -> dict[str, str]:
    """Return what is not measured any more, and each ratio more than twice as bad as the kept one.

    The keys are those of the limits, the values say more.
    """
    found = {limit.what: limit for limit in now.limits}
    losses = {limit.what: f"not measured: {limit.why}" for limit in now.limits if limit.why}
    for before in kept.limits:
        after = found.get(before.what)
        if before.ratio is None:
            continue
        if after is None or after.ratio is None:
            losses[before.what] = f"the ratio was {before.ratio:.3g} and is not measured"
        elif _loss(before, before.ratio, after.ratio) > MOST_LOSS:
            losses[before.what] = f"the ratio was {before.ratio:.3g} and is {after.ratio:.3g}"
    return losses


def _loss(limit: Limit, before: float, after: float) -> float:
    return before / after if limit.at_least else after / before
