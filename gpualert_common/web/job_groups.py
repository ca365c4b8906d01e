"""Jobs of the runs on this machine: the runs of each, by the job that their records name."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Mapping

from gpualert_common.launch_record import JobMembership
from gpualert_common.listing.condition import LIVE
from gpualert_common.listing.run_summary import RunSummary
from gpualert_common.structs import Struct

_KEY = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")

JobPlace = tuple[str, str]
"""A job directory, "" for none, and the key of a job in it."""


class JobGroup(Struct, frozen=True):
    """The runs of one job that are on this machine, the newest first.

    ``tag`` tells jobs of one key in several directories apart; it is "" for the newest.
    """

    key: str
    directory: str
    name: str
    origin: str
    tag: str
    runs: tuple[RunSummary, ...]

    @property
    def place(self) -> JobPlace:
        """The directory and the key."""
        return self.directory, self.key

    @property
    def address(self) -> str:
        """The address of its page."""
        return format_job_address(self.key, self.tag)

    @property
    def permanent_tag(self) -> str:
        """The tag that it keeps when there is a newer job of its key."""
        return make_tag(self.directory)

    @property
    def is_live(self) -> bool:
        """True if one of the runs goes on."""
        return any(run.condition in LIVE for run in self.runs)


def format_job_address(key: str, tag: str = "") -> str:
    """Return the address of the page of a job."""
    return f"/jobs/{key}" + (f"?in={tag}" if tag else "")


def make_tag(directory: str) -> str:
    """Return the tag of the jobs in a directory, which is "" for those without one."""
    return f"{zlib.crc32(directory.encode('utf-8', 'replace')):08x}"


def find_place(job: JobMembership | None) -> JobPlace | None:
    """Return the place of a job; None without one, and for a key that is none of ours."""
    key = (job or {}).get("key", "")
    if job is None or not _KEY.fullmatch(key):
        return None
    return job.get("directory", ""), key


def group_jobs(runs: Iterable[RunSummary]) -> list[JobGroup]:
    """Return the jobs of runs that are the newest first: those in progress first, else likewise."""
    found: dict[JobPlace, list[RunSummary]] = {}
    for run in runs:
        place = find_place(run.job)
        if place is not None:
            found.setdefault(place, []).append(run)
    newest: dict[str, JobPlace] = {}
    for place in found:
        newest.setdefault(place[1], place)
    groups = [_make_group(place, members, newest) for place, members in found.items()]
    return sorted(groups, key=lambda group: not group.is_live)


def _make_group(
    place: JobPlace, members: list[RunSummary], newest: Mapping[str, JobPlace]
) -> JobGroup:
    directory, key = place
    job = members[0].job or {}
    is_newest = newest[key] == place
    tag = "" if is_newest else make_tag(directory)
    name, origin = job.get("name") or key, job.get("origin", "")
    return JobGroup(key, directory, name, origin, tag, tuple(members))
