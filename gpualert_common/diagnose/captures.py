"""Captures as evidence: the profiles and traces that a run took when its steps became slow."""

from __future__ import annotations

from gpualert_common.diagnose.evidence import Capture
from gpualert_common.profiles.profile_files import read_profiles
from gpualert_common.profiles.rank_differences import find_differences
from gpualert_common.profiles.rank_texts import summarize
from gpualert_common.record import Record
from gpualert_common.spec import ON_REQUEST


def read_captures(record: Record, cwd: str | None) -> tuple[Capture, ...]:
    """Return the captures that nobody requested, oldest first."""
    found = []
    for _path, profile in read_profiles(record):
        if profile.reason == ON_REQUEST:
            continue
        differences = [one for one in find_differences(profile) if not one.is_wait]
        alone = differences[0].ranks if differences else ()
        rank = profile.ranks[alone[0]].number if len(alone) == 1 else None
        text = summarize(profile, cwd)
        found.append(Capture("profile", profile.at, profile.reason, text, rank))
    return tuple(sorted(found, key=lambda one: one.at))
