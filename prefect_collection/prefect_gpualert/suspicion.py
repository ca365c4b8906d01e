"""Trainings that exited with 0 although their log reports a failure, as states of Prefect."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from prefect.client.schemas.objects import State
from prefect.states import Cancelled, Completed

from gpualert_common.suspicion import OnSuspect, choose_reaction, explain_suspicion

if TYPE_CHECKING:
    from gpualert_common.model import Verdict
    from gpualert_common.redact import Redactor

SUSPECT = "Suspect"
SKIPPED = "Skipped"
"""Names of the state of a task whose training is suspect, of type Completed and Cancelled.

Prefect has no state for a skipped task.  Tasks that wait for a cancelled one do not run.  The flow
continues after a call; ``result()`` of a submitted or mapped task raises CancelledRun, and a flow
that returns such a future or state is cancelled.
"""


def remark(verdict: Verdict | None, redactor: Redactor) -> str:
    """Return the suspicion and the warnings of a training that exited with 0, in a masked line."""
    warnings = () if verdict is None else verdict.warnings
    texts = (" ".join(redactor.mask_text(warning.text).split()) for warning in warnings)
    return "; ".join(filter(None, (explain_suspicion(verdict, redactor), *texts)))


def wrap_value(
    value: Any, verdict: Verdict | None, redactor: Redactor, on_suspect: OnSuspect
) -> Any:
    """Return the value of a task for its engine; a suspect one in a state of its own."""
    why = explain_suspicion(verdict, redactor)
    if why is None:
        return value
    if choose_reaction(verdict, on_suspect) is OnSuspect.SKIP:
        return Cancelled(name=SKIPPED, message=why)
    return Completed(name=SUSPECT, message=why, data=value)


def unwrap_value(result: Any) -> Any:
    """Return the value of a task without the state that it was wrapped in for its engine.

    That of a skipped task is None.
    """
    if not isinstance(result, State):
        return result
    return getattr(result.data, "result", result.data)
