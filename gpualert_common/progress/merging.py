"""Merging of the progress of one training from several logs, such as stdout and stderr."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gpualert_common.progress.model import Counts, Point, Progress
from gpualert_common.progress.step_estimates import add_estimated_steps, remove_estimated_steps
from gpualert_common.progress.stream import GENERIC
from gpualert_common.progress.summary import PROGRAMS_OWN
from gpualert_common.structs import replace


def merge_progress(progresses: Sequence[Progress]) -> Progress:
    """Return the progress of one training from the progress of each of its logs.

    The points are from the log with the most losses; a bar in another log adds missing steps.
    Events are in the order of the logs, not of time.
    """
    if not progresses:
        raise ValueError("nothing to merge")
    if len(progresses) == 1:
        return progresses[0]
    main = max(progresses, key=_rank)
    others = [one for one in progresses if one is not main]
    tick = _find_tick(others)
    main = main if tick is None else remove_estimated_steps(main)
    named = [one for one in (main, *others) if one.framework not in (None, GENERIC)]
    notes = main.notes
    if named and main.framework == GENERIC and _has_losses(main):
        notes = (*notes, PROGRAMS_OWN)
    merged = replace(
        main,
        files=tuple(file for one in progresses for file in one.files),
        framework=named[0].framework if named else main.framework,
        flavour=next((one.flavour for one in named if one.flavour), None),
        by_reward=any(one.by_reward for one in progresses),
        notes=notes,
        evals=tuple(point for one in progresses for point in one.evals),
        checkpoints=tuple(event for one in progresses for event in one.checkpoints),
        markers=tuple(event for one in progresses for event in one.markers),
        jump=main.jump or next((one.jump for one in others if one.jump), None),
        endings=tuple(event for one in progresses for event in one.endings),
        outputs=tuple(event for one in progresses for event in one.outputs),
        counts=_merge_counts([main, *others]),
        read_bytes=sum(one.read_bytes for one in progresses),
        unread_bytes=sum(one.unread_bytes for one in progresses),
    )
    merged = add_estimated_steps(merged, tick) if _has_losses(main) else merged
    if merged.segments and merged.counts.first_step is None:
        first = merged.segments[0].first_step
        merged = replace(merged, counts=replace(merged.counts, first_step=first))
    return merged


def _rank(progress: Progress) -> tuple[bool, bool, int]:
    return _has_losses(progress), bool(progress.points), progress.counts.points


def _has_losses(progress: Progress) -> bool:
    return any(point.loss is not None or not point.is_finite for point in progress.points)


def _find_tick(others: Iterable[Progress]) -> Point | None:
    """Return the last point of a bar without losses."""
    last = (one.points[-1] for one in others if one.points and not _has_losses(one))
    return max(last, key=lambda point: point.total_steps or 0, default=None)


def _merge_counts(progresses: Sequence[Progress]) -> Counts:
    """Return the counts of the first, completed with those of the others."""
    every = [one.counts for one in progresses]
    first = every[0]
    return replace(
        first,
        evals=sum(one.evals for one in every),
        last_step=max((one.last_step for one in every if one.last_step is not None), default=None),
        total_steps=next((one.total_steps for one in every if one.total_steps), None),
        total_epochs=next((one.total_epochs for one in every if one.total_epochs), None),
        skipped_steps=sum(one.skipped_steps for one in every),
        overflows=sum(one.overflows for one in every),
        nan_iterations=sum(one.nan_iterations for one in every),
    )
