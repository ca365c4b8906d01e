"""Trainings that exited with 0 although their log reports a failure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from prefect.client.schemas.objects import State
from prefect.states import Completed

if TYPE_CHECKING:
    from gpualert_common.model import Verdict

SUSPECT = "Suspect"
"""Name of the state of a task whose training is suspect."""


def suspicion(verdict: Verdict | None) -> str | None:
    """Return in one line why a training that exited with 0 is suspect; None if it is not."""
    if verdict is None or verdict.cause == "none":
        return None
    return f"{verdict.cause}: {' '.join(verdict.headline.split())}"


def remark(verdict: Verdict | None) -> str:
    """Return the suspicion and the warnings of a training that exited with 0, in one line."""
    warnings = () if verdict is None else verdict.warnings
    parts = [suspicion(verdict), *(" ".join(warning.text.split()) for warning in warnings)]
    return "; ".join(filter(None, parts))


def wrap_value(value: Any, verdict: Verdict | None) -> Any:
    """Return the value of a task for its engine; a suspect one in a state named Suspect."""
    why = suspicion(verdict)
    return value if why is None else Completed(name=SUSPECT, message=why, data=value)


def unwrap_value(result: Any) -> Any:
    """Return the value of a task without the state that it was wrapped in for its engine."""
    if not isinstance(result, State):
        return result
    return getattr(result.data, "result", result.data)
