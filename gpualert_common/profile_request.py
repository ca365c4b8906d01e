"""Profile of a run on request of a person: taken now, and stored in its record."""

from __future__ import annotations

from gpualert_common.errors import UsageError
from gpualert_common.live_tree import find_live_tree
from gpualert_common.profiles.profile import Profile, change_names
from gpualert_common.profiles.profile_collection import take_profile_of
from gpualert_common.profiles.profile_files import store_profile
from gpualert_common.profiles.py_spy_sampler import SamplingOptions
from gpualert_common.record import Record
from gpualert_common.redact import Redactor
from gpualert_common.spec import ON_REQUEST
from gpualert_common.structs import Struct


class TakenProfile(Struct, frozen=True):
    """A profile, and the path of its folder in the record, or the reason why it is not there."""

    profile: Profile
    path: str = ""
    problem: str = ""


def take_profile(
    record: Record,
    options: SamplingOptions,
    *,
    ranks: frozenset[int] = frozenset(),
    reason: str = ON_REQUEST,
) -> TakenProfile:
    """Return the profile of a run in progress, of all ranks or of some, and store it in its record.

    It takes the duration of the options and some seconds.  Raises UsageError for a run that is not
    visible from here, has ended, or has no process whose Python stacks can be sampled.
    """
    profile = take_profile_of(find_live_tree(record, "profile"), reason, options, ranks)
    if not profile.trees:
        raise UsageError(f"{record.run_id}: {_explain(profile, ranks)}")
    profile = change_names(profile, Redactor().mask_text)
    try:
        return TakenProfile(profile, path=store_profile(record, profile))
    except OSError as error:
        why = f"the profile is not stored in {record.path}: {error.strerror}"
        return TakenProfile(profile, problem=why)


def _explain(profile: Profile, ranks: frozenset[int]) -> str:
    """Return why a profile has no samples."""
    if profile.problems:
        return f"no stacks: {profile.problems[0]}"
    if not profile.ranks:
        wanted = f"no rank {', '.join(map(str, sorted(ranks)))}" if ranks else "no process"
        return f"{wanted} of it can be seen from here"
    problems = dict.fromkeys(one.problem for one in profile.ranks)
    return f"no stacks: {'; '.join(problems)}"
