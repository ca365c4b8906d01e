"""Last trial of a coordinator's address, when a run has ended by a failed rendezvous.

The coordinator may have come up, or gone, since the trial before.
"""

from __future__ import annotations

from gpualert_common.coordinator.endpoint_trial import TrialOutcome, try_endpoint
from gpualert_common.coordinator.start_lines import parse_start_lines
from gpualert_common.coordinator.state import CoordinatorState
from gpualert_common.structs import replace

TAIL_BYTES = 16 << 10
"""Part of a log that has the error by which the run ended."""
_NAME_TIMEOUT_S, _ANSWER_TIMEOUT_S = 1.0, 2.0
"""The verdict waits so long.  A lost request for a connection is repeated after 1 s."""
_OPEN_AFTER_THE_END = (TrialOutcome.IS_HERE, TrialOutcome.NO_NAME_SERVER)
"""Outcomes that show nothing: the run's own port is closed now, and the time is short."""


def reports_failed_rendezvous(tail: bytes) -> bool:
    """Return whether the end of a log is that of a failed rendezvous, not of an occupied port."""
    lines = parse_start_lines(tail)
    return lines.waits and not lines.port_in_use


def try_again(state: CoordinatorState) -> CoordinatorState | None:
    """Return the state by a trial, which takes three seconds at most; None if it shows nothing."""
    result = try_endpoint(state.host, state.port, _NAME_TIMEOUT_S, _ANSWER_TIMEOUT_S)
    if result.outcome in _OPEN_AFTER_THE_END:
        return None
    return replace(
        state,
        outcome=result.outcome,
        addresses=result.addresses,
        error=result.error,
        is_loopback=result.is_loopback,
    )
