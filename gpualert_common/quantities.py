"""Times, durations and numbers in files that other processes write, with their limits."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Self, TypeGuard

MOST_SECONDS = 10.0 * 365 * 86400
"""Limit of a duration: ten years."""

MOST_TIME = 253_402_300_800.0
"""Limit of a time in seconds since the epoch: the year 10000, which no calendar function prints."""


def is_seconds(value: Any) -> TypeGuard[float]:
    """True for a valid duration."""
    return _is_real(value) and 0 <= value <= MOST_SECONDS


def is_time(value: Any) -> TypeGuard[float]:
    """True for a valid time in seconds since the epoch."""
    return _is_real(value) and 0 <= value < MOST_TIME


def is_number(value: Any) -> TypeGuard[int]:
    """True for a valid number of an attempt or process."""
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) < 1 << 63


def _is_real(value: Any) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


if TYPE_CHECKING:
    Time = float
    Seconds = float
    Number = int
else:

    class Time(float):
        """Type of a field with a time, for :func:`gpualert_common.codec.decode`."""

        def __new__(cls, value: Any) -> Self:
            """Return the time.  Raises ValueError if it is not valid."""
            if not is_time(value):
                raise ValueError(f"not a time: {value!r:.40}")
            return super().__new__(cls, value)

    class Seconds(float):
        """Type of a field with a duration, for :func:`gpualert_common.codec.decode`."""

        def __new__(cls, value: Any) -> Self:
            """Return the duration.  Raises ValueError if it is not valid."""
            if not is_seconds(value):
                raise ValueError(f"not a duration in seconds: {value!r:.40}")
            return super().__new__(cls, value)

    class Number(int):
        """Type of a field with a number, for :func:`gpualert_common.codec.decode`."""

        def __new__(cls, value: Any) -> Self:
            """Return the number.  Raises ValueError if it is not valid."""
            if not is_number(value):
                raise ValueError(f"not a number: {value!r:.40}")
            return super().__new__(cls, value)
