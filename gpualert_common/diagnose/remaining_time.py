"""Time that a run in progress has left until the limit of its job in Slurm."""

from __future__ import annotations

from gpualert_common.diagnose import thresholds
from gpualert_common.diagnose.recent_series import is_fresh
from gpualert_common.quantities import is_time
from gpualert_common.structs import Struct
from gpualert_common.telemetry.series import Telemetry
from gpualert_common.telemetry.slurm_events import FOLLOWED

_OF, _NAME = "slurm", "time_left_seconds"


class RemainingTime(Struct, frozen=True):
    """The time until the limit, and the time that the job had when it was seen first."""

    left_s: float
    whole_s: float

    @property
    def window_s(self) -> float:
        """Time before the limit in which the limit is near."""
        share_s = thresholds.LIMIT_NEAR_SHARE * self.whole_s
        near_s = min(max(share_s, thresholds.LIMIT_NEAR_LEAST_S), thresholds.LIMIT_NEAR_MOST_S)
        return min(near_s, self.whole_s / 2)

    @property
    def is_near(self) -> bool:
        """True within that time."""
        return self.left_s <= self.window_s

    @property
    def reading_pause_s(self) -> float | None:
        """Pause between two readings of the progress; None where the limit is far away."""
        return self.window_s / 20 if self.left_s <= 2 * self.window_s else None


def find_remaining_time(telemetry: Telemetry, now: float) -> RemainingTime | None:
    """Return the time that is left; None where no limit is known.

    A run in a job has it from the source slurm, the follower of a job from the controller.
    """
    left = telemetry.series(_OF, _NAME)
    if is_fresh(left, now):
        return RemainingTime(max(0.0, left.last), max(1.0, left.peak))
    events = telemetry.find_events(FOLLOWED)
    ends_at = events[-1].fields.get("ends_at") if events else None
    if not is_time(ends_at):
        return None
    began_at = min(one.at for one in events if is_time(one.fields.get("ends_at")))
    return RemainingTime(max(0.0, ends_at - now), max(1.0, ends_at - began_at))
