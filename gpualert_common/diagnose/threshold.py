"""A number that decides, with its reason and source."""

from __future__ import annotations

from typing import Self

CALIBRATED = "ours; calibrated on the open scenarios, see docs/scenarios.md"
BY_REASON = "ours; by its reason, not calibrated"


class Threshold(float):
    """A number that decides, with its unit, its reason, and the source of both."""

    unit: str
    reason: str
    source: str

    def __new__(cls, value: float, unit: str, reason: str, source: str = BY_REASON) -> Self:
        """Return the number *value* with its explanation."""
        made = super().__new__(cls, value)
        made.unit, made.reason, made.source = unit, reason, source
        return made
