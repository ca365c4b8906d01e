"""States of Slurm's jobs and steps, as its commands print them."""

from __future__ import annotations

from enum import StrEnum

from gpualert_common.regex import compile_text
from gpualert_common.structs import Struct

_MOST_CHARS = 80


class SlurmState(StrEnum):
    """State of a job or step; releases have further ones, of which only the text is kept."""

    PENDING = "PENDING"
    CONFIGURING = "CONFIGURING"
    RUNNING = "RUNNING"
    SUSPENDED = "SUSPENDED"
    STOPPED = "STOPPED"
    SIGNALING = "SIGNALING"
    RESIZING = "RESIZING"
    STAGE_OUT = "STAGE_OUT"
    COMPLETING = "COMPLETING"
    REQUEUE_HOLD = "REQUEUE_HOLD"
    COMPLETED = "COMPLETED"
    FAILED = "FAILED"
    CANCELLED = "CANCELLED"
    TIMEOUT = "TIMEOUT"
    DEADLINE = "DEADLINE"
    PREEMPTED = "PREEMPTED"
    REQUEUED = "REQUEUED"
    SPECIAL_EXIT = "SPECIAL_EXIT"
    NODE_FAIL = "NODE_FAIL"
    BOOT_FAIL = "BOOT_FAIL"
    LAUNCH_FAILED = "LAUNCH_FAILED"
    RECONFIG_FAIL = "RECONFIG_FAIL"
    OUT_OF_MEMORY = "OUT_OF_MEMORY"
    REVOKED = "REVOKED"


ENDED = frozenset(
    (
        *(SlurmState.COMPLETED, SlurmState.FAILED, SlurmState.CANCELLED, SlurmState.TIMEOUT),
        *(SlurmState.DEADLINE, SlurmState.PREEMPTED, SlurmState.REQUEUED, SlurmState.SPECIAL_EXIT),
        *(SlurmState.NODE_FAIL, SlurmState.BOOT_FAIL, SlurmState.LAUNCH_FAILED),
        *(SlurmState.RECONFIG_FAIL, SlurmState.OUT_OF_MEMORY, SlurmState.REVOKED),
    )
)
"""States of a job or step that has ended, or of an earlier start of a job that was requeued."""

_MAY_START_AGAIN = (SlurmState.REQUEUED, SlurmState.SPECIAL_EXIT, SlurmState.RECONFIG_FAIL)
FINAL = ENDED.difference(_MAY_START_AGAIN)
"""States of a job that has ended for good."""

_CANCELLED_BY = compile_text(r"^CANCELLED by (\d{1,10})$")


class StateText(Struct, frozen=True):
    """A state as a command printed it; ``state`` is None for one that this release does not know.

    ``by_uid`` is the user who cancelled the job.
    """

    text: str
    state: SlurmState | None = None
    by_uid: int | None = None

    @property
    def has_ended(self) -> bool:
        """True for the state of a job or step that has ended; an unknown state does not show it."""
        return self.state in ENDED


def parse_state(text: str) -> StateText:
    """Return a state from its text, such as "TIMEOUT" or "CANCELLED by 1000"."""
    shown = "".join(one for one in text[:_MOST_CHARS] if one.isprintable()).strip()
    found = _CANCELLED_BY.match(shown)
    if found is not None:
        return StateText(shown, SlurmState.CANCELLED, int(found.group(1)))
    word = shown.partition(" ")[0].rstrip("+")
    known = SlurmState(word) if word in SlurmState.__members__ else None
    return StateText(shown, known)
