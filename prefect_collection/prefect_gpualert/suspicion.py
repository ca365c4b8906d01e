"""Trainings that ended with 0 although their log says that something went wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from prefect.client.schemas.objects import State
from prefect.states import Completed

if TYPE_CHECKING:
    from gpualert_common.model import Verdict

SUSPECT = "Suspect"
"""The name of the state of a task whose training is suspect."""


def suspicion(verdict: Verdict | None) -> str | None:
    """Why a training that ended with 0 is suspect, in a line; None: it is not."""
    if verdict is None or verdict.cause == "none":
        return None
    return f"{verdict.cause}: {' '.join(verdict.headline.split())}"


def remark(verdict: Verdict | None) -> str:
    """What people should hear of a training that ended with 0, in a line; "": nothing."""
    warnings = () if verdict is None else verdict.warnings
    said = [suspicion(verdict), *(" ".join(warning.text.split()) for warning in warnings)]
    return "; ".join(filter(None, said))


def completed(value: Any, verdict: Verdict | None) -> Any:
    """What a task returns to its engine: the value, where it is suspect in a state that says so."""
    why = suspicion(verdict)
    return value if why is None else Completed(name=SUSPECT, message=why, data=value)


def value_of(result: Any) -> Any:
    """What a task returned, out of the state that it was wrapped in for its engine."""
    if not isinstance(result, State):
        return result
    return getattr(result.data, "result", result.data)
