"""The job of the run reaches its time limit in Slurm soon, and the run does not end before.

The limit is near in the last tenth of the job's time, but for ten minutes at least and an hour at
most, or for half of a very short limit.  At the pace of its last steps the run needs longer for the
steps that are left.  If the log has no pace, or nothing was printed for long, the run counts as one
that does not end in time, unless it saved a checkpoint in that time.  A run that needs less than
nine tenths of the time that is left, or reports the end of its training, raises no warning.  In a
job on several nodes the run on the first one raises the warning.
"""

from __future__ import annotations

import time

from gpualert_common.diagnose import thresholds
from gpualert_common.diagnose.detection import NOT_DETECTED, Detection
from gpualert_common.diagnose.evidence import Evidence
from gpualert_common.diagnose.remaining_time import RemainingTime, find_remaining_time
from gpualert_common.diagnose.rule_text import format_estimate
from gpualert_common.diagnose.run_metrics import find_step_time_s
from gpualert_common.model import Claim
from gpualert_common.progress import CheckpointAction, Progress, TrainingEndKind

DO = (
    "save a checkpoint now, if the training can be told to",
    "`gpualert stop RUN` sends SIGTERM, on which many trainings save, and waits for `--grace`",
    "an operator of the cluster can extend the limit: `scontrol update JobId=... TimeLimit=...`",
    "let the next job save in time by itself: `--signal=B:TERM@300`, see the guide to Slurm",
)
FOLLOWS = frozenset(("gpu_idle", "hung", "log_silent", "rendezvous_wait", "xid"))
PREDICTS = frozenset(("time_limit",))
_ENDS = frozenset((TrainingEndKind.SUMMARY, TrainingEndKind.FINISHED))


def detect(evidence: Evidence) -> Detection | None:
    """Return whether the limit comes before the end; None where limit or progress is not known."""
    progress = evidence.progress
    remaining = find_remaining_time(evidence.telemetry, evidence.ended_at)
    if remaining is None or progress is None:
        return None
    if not remaining.is_near or any(one.kind in _ENDS for one in progress.endings):
        return NOT_DETECTED
    step_s = _find_pace_s(evidence, progress)
    needed_s = _find_needed_s(progress, step_s)
    is_early = remaining.left_s > remaining.window_s / 2
    if needed_s is None and is_early and _will_have_pace(evidence, progress):
        return None
    saved_s = _find_age_of_save_s(evidence, progress, step_s)
    if needed_s is None:
        ends_in_time = saved_s is not None and saved_s < remaining.window_s
    else:
        ends_in_time = needed_s <= thresholds.LIMIT_USABLE_SHARE * remaining.left_s
    if ends_in_time:
        return NOT_DETECTED
    shows = _list_claims(remaining, progress, step_s, needed_s, evidence.ended_at)
    shows.append(Claim(_describe_save(progress, saved_s), "log"))
    return Detection("time limit of its Slurm job near", shows=tuple(shows))


def _find_pace_s(evidence: Evidence, progress: Progress) -> float | None:
    """Return the time of a step by the clock, else by the log; None after a long silence."""
    stepping = evidence.observations.stepping
    by_clock = None if stepping is None or stepping[0] <= 0 else stepping[1] / stepping[0]
    step_s = by_clock or find_step_time_s(progress, None)
    usual_s = thresholds.SILENCE_STEPS * (step_s or 0.0)
    return None if evidence.silence_s >= max(thresholds.SILENCE_S, usual_s) else step_s


def _will_have_pace(evidence: Evidence, progress: Progress) -> bool:
    """Return whether the log counts the steps, so that some more of them show the pace."""
    last, total = progress.counts.last_step, progress.counts.total_steps
    is_counted = last is not None and total is not None and 0 < last <= total
    return is_counted and evidence.silence_s < thresholds.SILENCE_S


def _find_needed_s(progress: Progress, step_s: float | None) -> float | None:
    last, total = progress.counts.last_step, progress.counts.total_steps
    if last is None or not total or last > total:
        return None
    if last == total:
        return 0.0
    return None if step_s is None else (total - last) * step_s


def _find_age_of_save_s(
    evidence: Evidence, progress: Progress, step_s: float | None
) -> float | None:
    """Return how long ago the last checkpoint was saved, by the log or by the files."""
    written = evidence.events("checkpoints_written")
    ages = [evidence.ended_at - written[-1].at] if written else []
    saved = _find_saved_step(progress)
    last = progress.counts.last_step
    if saved is not None and last is not None and step_s is not None:
        ages.append(max(0, last - saved) * step_s)
    return min(ages, default=None)


def _find_saved_step(progress: Progress) -> int | None:
    saves = [one for one in progress.checkpoints if one.action is CheckpointAction.SAVED]
    return max((one.step for one in saves if one.step is not None), default=None)


def _list_claims(
    remaining: RemainingTime,
    progress: Progress,
    step_s: float | None,
    needed_s: float | None,
    now: float,
) -> list[Claim]:
    left = f"{format_estimate(remaining.left_s)} are left until the limit at"
    claims = [Claim(f"{left} {_format_clock(now + remaining.left_s)}", "slurm")]
    last, total = progress.counts.last_step, progress.counts.total_steps
    if needed_s is not None and step_s is not None:
        position = f"it is at step {last} of {total}"
        pace = f"at {step_s:.3g} s per step it needs {format_estimate(needed_s)} more"
        claims.append(Claim(f"{position}; {pace}", "log"))
    elif last is not None:
        claims.append(Claim(f"it is at step {last}; how long it still needs is not known", "log"))
    return claims


def _describe_save(progress: Progress, saved_s: float | None) -> str:
    step = _find_saved_step(progress)
    if step is None and saved_s is None:
        return "no checkpoint of it was seen"
    text = "the last checkpoint seen"
    text += f" is that of step {step}" if step is not None else " is one of its files"
    return text if saved_s is None else f"{text}, about {format_estimate(saved_s)} ago"


def _format_clock(at: float) -> str:
    try:
        return time.strftime("%H:%M UTC", time.gmtime(at))
    except (OverflowError, ValueError, OSError):
        return "an unknown time"
