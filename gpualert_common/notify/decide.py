"""Whether the end of a run is to be told: now, later, or not at all.  Pure: facts in, step out.

The supervisor knows how the training ended; only a face knows what its task became of it.  So a run
that an engine's task follows is told once its outcome is known, or was waited for in vain, and as
long as another attempt may follow it is held: that attempt supersedes it.
"""

from __future__ import annotations

from gpualert_common.spec import is_seconds

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

SKIP, WAIT, HOLD, SEND = "skip", "wait", "hold", "send"
"""Nothing to tell; too early to say; to be told unless another attempt comes; to be told now."""

OUTCOME_S = 10.0
"""How long the outcome of a face is waited for; one that lives writes it in well under a second."""
NEXT_ATTEMPT_SLACK_S = 60.0
"""What an engine takes to start the next attempt, where its face did not say."""
_WELL_STATES = ("success", "skipped")


class AlertDecision:
    """What to do: ``kind``, until when it holds (seconds since the epoch), and why."""

    __slots__ = ("because", "kind", "until")

    def __init__(self, kind: str, because: str, until: float = 0.0) -> None:
        self.kind = kind
        self.because = because
        self.until = until


def decide(
    now: float,
    *,
    wanted: str | None,
    ended_at: float,
    well: bool,
    custody: Mapping[str, Any] | None,
    outcome: Mapping[str, Any] | None,
    succeeded: bool,
) -> AlertDecision:
    """The step for a run that has ended.

    ``wanted`` is which ends are told (None: no channel is), ``well`` that the verdict found nothing
    wrong, ``custody`` what was agreed with the attempt (None: no engine), ``outcome`` what its task
    became (None: not known), ``succeeded`` that a later attempt has begun.
    """
    if wanted in (None, "never"):
        return AlertDecision(SKIP, "nobody is to be told")
    if custody is not None and outcome is None:
        if succeeded:
            return AlertDecision(SKIP, "a later attempt has begun")
        if now < ended_at + OUTCOME_S:
            return AlertDecision(
                WAIT, "its task may yet say what became of it", ended_at + OUTCOME_S
            )
    state = None if outcome is None else outcome.get("state")
    is_well = well if state is None else state in _WELL_STATES
    if is_well and wanted != "always":
        return AlertDecision(SKIP, "it ended well")
    return _when(now, ended_at, custody, outcome, succeeded=succeeded)


def _when(
    now: float,
    ended_at: float,
    custody: Mapping[str, Any] | None,
    outcome: Mapping[str, Any] | None,
    *,
    succeeded: bool,
) -> AlertDecision:
    if custody is None:
        return AlertDecision(SEND, "it has ended")
    if outcome is not None:
        final, within_s = bool(outcome.get("final")), outcome.get("next_within_s")
    else:
        final, within_s = bool(custody.get("is_last")), None
    if final:
        return AlertDecision(SEND, "no further attempt follows")
    if succeeded:
        return AlertDecision(SKIP, "a later attempt has begun")
    if not is_seconds(within_s):
        within_s = (custody.get("adopt_within_s") or 0.0) + NEXT_ATTEMPT_SLACK_S
    until = ended_at + within_s
    if now < until:
        return AlertDecision(HOLD, "another attempt may follow", until)
    return AlertDecision(SEND, "no further attempt came in time")
