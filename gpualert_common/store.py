"""Where run records live on this machine, and how one is found."""

from __future__ import annotations

import os
import time

from gpualert_common.errors import RecordError, UsageError
from gpualert_common.record import Record

RUNS = "runs"


def new_run_id() -> str:
    """A name that sorts by time (UTC) and that no other run has."""
    seconds, nanoseconds = divmod(time.time_ns(), 10**9)
    day = time.strftime("%Y%m%d-%H%M%S", time.gmtime(seconds))
    return f"{day}-{nanoseconds // 1000:06d}-{os.urandom(2).hex()}"


def places(state_dir: str | None = None) -> list[str]:
    """The state directories to try, best first: configured, per user, temporary."""
    found = [_absolute(os.path.expanduser(state_dir))] if state_dir else []
    base = os.environ.get("XDG_STATE_HOME")
    if base and os.path.isabs(base):
        found.append(os.path.join(base, "gpualert"))
    elif os.geteuid() == 0:
        found.append("/var/lib/gpualert")
    else:
        home = os.path.expanduser("~")
        if os.path.isabs(home):
            found.append(os.path.join(home, ".local", "state", "gpualert"))
    temporary = os.environ.get("TMPDIR") or "/tmp"  # noqa: S108 - the last resort of the contract
    found.append(os.path.join(_absolute(temporary), f"gpualert-{os.geteuid()}"))
    return list(dict.fromkeys(found))


def _absolute(path: str) -> str:
    try:
        return os.path.abspath(path)
    except FileNotFoundError:
        return path  # the working directory was deleted: nothing is there, and the next is tried


def records(state_dir: str | None = None) -> list[Record]:
    """Every record of ours in every place, oldest first; the caller closes them."""
    found: dict[str, Record] = {}
    for place in places(state_dir):
        directory = os.path.join(place, RUNS)
        try:
            names = os.listdir(directory)
        except OSError:
            continue
        for name in names:
            try:
                record = Record.open(os.path.join(directory, name))
            except RecordError:
                continue
            found[record.path] = record
    return sorted(found.values(), key=lambda record: record.run_id)


def find(run: str, state_dir: str | None = None) -> Record:
    """The record that ``run`` names: a path, a run id, the start of one, or ``last``.

    Raises UsageError when none or several fit, RecordError when it cannot be trusted.
    """
    if os.sep in run:
        return Record.open(run)
    chosen: list[Record] = []
    known = records(state_dir)
    if run == "last":
        chosen = known[-1:]
    else:
        chosen = [record for record in known if record.run_id == run] or [
            record for record in known if record.run_id.startswith(run)
        ]
    for record in known:
        if record not in chosen or len(chosen) > 1:
            record.close()
    if len(chosen) == 1:
        return chosen[0]
    where = ", ".join(os.path.join(place, RUNS) for place in places(state_dir))
    if not chosen:
        what = "no run yet" if run == "last" else f"no run {run!r}"
        raise UsageError(f"{what} in {where}; `gpualert runs` lists them")
    names = ", ".join(record.run_id for record in chosen[:5])
    raise UsageError(f"{run!r} names {len(chosen)} runs: {names}; give more of the id")
