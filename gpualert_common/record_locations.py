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


def choose_state_dir(state_dir: str | None = None) -> str:
    """Return the state directory in force: the configured one, else that of the user."""
    return _absolute(os.path.expanduser(state_dir)) if state_dir else _list_defaults()[0]


def list_state_dirs(state_dir: str | None = None, *, only: bool = False) -> Iterator[str]:
    """Yield the state directory in force, then those that can stand in for it, best first.

    A stand-in has the name of the directory in force in its own, so that it holds nothing else.
    With ``only`` there is none.
    """
    chosen = choose_state_dir(state_dir)
    yield chosen
    for default in () if only else _list_defaults():
        if default != chosen:
            yield f"{default}-instead-of-{_shorten(chosen)}"


def _list_defaults() -> list[str]:
    """Return the directories without configuration: that of the user, and the temporary one."""
    found = []
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


def _shorten(path: str) -> str:
    """Return a short name of a path, for a part of a file name.

    Without :mod:`hashlib`, since a module cannot be imported where no descriptor is left.
    """
    number = 0
    for byte in os.fsencode(path):
        number = (number * 1_000_003 + byte) % (1 << 61)
    return f"{number:016x}"


def list_places(
    state_dir: str | None = None, *, on_note: Callable[[str], None] = lambda _text: None
) -> list[str]:
    """Return the real path of the state directory in force, and of each stand-in that has records.

    The first may not exist.  ``on_note`` gets a sentence about each stand-in, and about each
    directory that is left out, because this user cannot trust its files.
    """
    chosen = choose_state_dir(state_dir)
    found = []
    for path in list_state_dirs(state_dir):
        try:
            place = resolve_state_dir(path)
            names = _list_names(place)
        except OSError as error:
            on_note(f"{path} is not read: {error.strerror or error}")
            continue
        if path != chosen and (not names or place in found):
            continue
        if path != chosen:
            problem = _find_problem(place, names, chosen)
            on_note(f"{place} is read too: it has runs that {chosen} could not take{problem}")
        found.append(place)
    return found


def _find_problem(place: str, names: list[str], chosen: str) -> str:
    """Return why the newest record of a stand-in is not in the directory in force; or nothing."""
    try:
        tried = Record.open(os.path.join(place, RUNS, max(names))).spec.tried
    except RecordError:
        return ""
    return next((f": {problem}" for path, problem in tried if path == chosen), "")


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
