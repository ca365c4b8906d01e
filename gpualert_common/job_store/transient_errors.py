"""Repetition of a call to a store while its errors are transient, within a deadline."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import tenacity

FIRST_PAUSE_S = 0.1
LONGEST_PAUSE_S = 5.0

Result = TypeVar("Result")


def repeat_transient(
    call: Callable[[], Result], is_transient: Callable[[BaseException], bool], deadline_s: float
) -> Result:
    """Return the result of *call*, which is repeated with random pauses after transient errors.

    Raises its last error; no attempt begins after the deadline.
    """
    attempts = tenacity.Retrying(
        retry=tenacity.retry_if_exception(is_transient),
        wait=tenacity.wait_random_exponential(multiplier=FIRST_PAUSE_S, max=LONGEST_PAUSE_S),
        stop=tenacity.stop_before_delay(deadline_s),
        reraise=True,
    )
    return attempts(call)
