"""Locations of run records on this machine."""

from __future__ import annotations

import os
import time

from gpualert_common.errors import RecordError
from gpualert_common.record import Record, private_directory
from gpualert_common.record.private_directory import open_folder, resolve_state_dir

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

RUNS = private_directory.RUNS


def new_run_id() -> str:
    """Return a unique name that sorts by time (UTC)."""
    seconds, nanoseconds = divmod(time.time_ns(), 10**9)
    day = time.strftime("%Y%m%d-%H%M%S", time.gmtime(seconds))
    return f"{day}-{nanoseconds // 1000:06d}-{os.urandom(2).hex()}"


def list_state_dirs(state_dir: str | None = None, *, only: bool = False) -> list[str]:
    """Return the state directories to try, best first: configured, per user, temporary.

    With ``only`` the configured one is not replaced by another.
    """
    found = [_absolute(os.path.expanduser(state_dir))] if state_dir else []
    if found and only:
        return found
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
        return path  # the working directory was deleted: the next state directory is tried


def list_places(
    state_dir: str | None = None,
    *,
    only: bool = False,
    on_refused: Callable[[str, str], None] = lambda _path, _why: None,
) -> list[str]:
    """Return the real path of each state directory whose files this user can trust, once.

    It may not exist.  ``on_refused`` is called with each other one and the reason.  Arguments as
    for :func:`list_state_dirs`.
    """
    found = []
    for path in list_state_dirs(state_dir, only=only):
        try:
            place = resolve_state_dir(path)
            _list_names(place)
        except OSError as error:
            on_refused(path, error.strerror or str(error))
            continue
        found.append(place)
    return list(dict.fromkeys(found))


def list_record_paths(places: Iterable[str]) -> list[str]:
    """Return the paths of all records in these places, oldest first; opens none."""
    found = []
    for place in places:
        try:
            found += [os.path.join(place, RUNS, name) for name in _list_names(place)]
        except OSError:
            continue
    return sorted(found, key=os.path.basename)


def _list_names(place: str) -> list[str]:
    """Return the names of the records in a place.  Raises OSError if others could change it."""
    try:
        fd = open_folder(place, RUNS)
    except FileNotFoundError:
        return []
    try:
        return [name for name in os.listdir(fd) if not name.startswith(".")]
    finally:
        os.close(fd)


def open_records(places: Iterable[str]) -> Iterator[Record]:
    """Yield each record that may be trusted, oldest first, and close it before the next one."""
    for path in list_record_paths(places):
        try:
            record = Record.open(path)
        except RecordError:
            continue
        yield record
        record.close()
