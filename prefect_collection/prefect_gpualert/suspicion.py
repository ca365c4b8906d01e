"""Trainings that exited with 0 although their log reports a failure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from prefect.client.schemas.objects import State
from prefect.states import Completed

if TYPE_CHECKING:
    from gpualert_common.model import Verdict
    from gpualert_common.redact import Redactor

SUSPECT = "Suspect"
"""Name of the state of a task whose training is suspect."""


def suspicion(verdict: Verdict | None, redactor: Redactor) -> str | None:
    """Return in one masked line why a training that exited with 0 is suspect; None if it is not."""
    if verdict is None or verdict.cause == "none":
        return None
    return f"{verdict.cause}: {' '.join(redactor.mask_text(verdict.headline).split())}"


def remark(verdict: Verdict | None, redactor: Redactor) -> str:
    """Return the suspicion and the warnings of a training that exited with 0, in a masked line."""
    warnings = () if verdict is None else verdict.warnings
    texts = (" ".join(redactor.mask_text(warning.text).split()) for warning in warnings)
    return "; ".join(filter(None, (suspicion(verdict, redactor), *texts)))


def wrap_value(value: Any, verdict: Verdict | None, redactor: Redactor) -> Any:
    """Return the value of a task for its engine; a suspect one in a state named Suspect."""
    why = suspicion(verdict, redactor)
    return value if why is None else Completed(name=SUSPECT, message=why, data=value)


def unwrap_value(result: Any) -> Any:
    """Return the value of a task without the state that it was wrapped in for its engine."""
    if not isinstance(result, State):
        return result
    return getattr(result.data, "result", result.data)
