"""Filter of the list of runs, as a form gives it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from urllib.parse import urlencode

from gpualert_common.listing.condition import FAILURES, LIVE, Condition
from gpualert_common.listing.run_summary import RunSummary
from gpualert_common.moments import parse_moment
from gpualert_common.structs import Struct

FAILED, IN_PROGRESS = "failed-all", "live"
STATES = {
    IN_PROGRESS: "in progress",
    FAILED: "ended badly",
    **{condition.replace(" ", "-"): str(condition) for condition in Condition},
}
"""Values of the field for the state, with their words."""
FIELDS = ("state", "cause", "name", "since", "until", "user", "job")
_GLOB = "*?["
_MOST_CHARS = 200


class RunFilter(Struct, frozen=True):
    """The fields of the form as they were given, the times in seconds since the epoch.

    ``problems`` are sentences about fields that cannot be understood; these filter nothing.
    """

    given: Mapping[str, str]
    since: float | None = None
    until: float | None = None
    problems: tuple[str, ...] = ()

    def is_wanted(self, run: RunSummary) -> bool:
        """True for a run that all fields let through."""
        given, at = self.given, run.started_at or 0.0
        return (
            _has_state(run, given["state"])
            and given["cause"] in ("", run.cause)
            and (not given["user"] or run.has_user(given["user"]))
            and (self.since is None or at >= self.since)
            and (self.until is None or at < self.until)
            and (not given["job"] or run.has_job(given["job"]))
            and (not given["name"] or run.has_name(_make_pattern(given["name"])))
        )

    def select(self, runs: Iterable[RunSummary]) -> list[RunSummary]:
        """Return the runs that are wanted: those in progress first, else in their order."""
        wanted = [run for run in runs if self.is_wanted(run)]
        return sorted(wanted, key=lambda run: run.condition not in LIVE)

    def make_query(self, page: int) -> str:
        """Return the query of an address of this list."""
        fields = {name: value for name, value in self.given.items() if value}
        return urlencode(fields | ({"page": str(page)} if page > 1 else {}))


def read_filter(query: Mapping[str, str]) -> RunFilter:
    """Return the filter that the query of an address describes."""
    given = {name: query.get(name, "").strip()[:_MOST_CHARS] for name in FIELDS}
    problems: list[str] = []
    moments: dict[str, float | None] = {"since": None, "until": None}
    for name in moments:
        try:
            moments[name] = parse_moment(given[name]) if given[name] else None
        except ValueError as error:
            problems.append(f"{name}: {error}")
    if given["state"] not in ("", *STATES):
        problems.append(f"state: there is no state {given['state']!r}")
        given["state"] = ""
    return RunFilter(given, moments["since"], moments["until"], tuple(problems))


def _has_state(run: RunSummary, state: str) -> bool:
    match state:
        case "":
            return True
        case "live":
            return run.condition in LIVE
        case "failed-all":
            return run.condition in FAILURES
        case _:
            return run.condition == STATES[state]


def _make_pattern(name: str) -> str:
    """Return the glob pattern: a name without a pattern may stand anywhere in that of a run."""
    return name if any(character in name for character in _GLOB) else f"*{name}*"
