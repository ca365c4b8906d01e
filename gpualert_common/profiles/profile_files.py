"""Profiles in the record of a run: a folder for each, with the data, a picture and a download."""

from __future__ import annotations

import gzip
import os
import time
from collections.abc import Iterator

from gpualert_common.codec import decode, encode
from gpualert_common.errors import DamagedFileError, RecordError
from gpualert_common.processes.procfs import read_stat
from gpualert_common.profiles.flame_graph import draw_flame_graph
from gpualert_common.profiles.profile import Profile
from gpualert_common.profiles.speedscope_file import make_speedscope
from gpualert_common.record import Record
from gpualert_common.record.directory import encode as encode_json
from gpualert_common.record.files import OPEN_FLAGS, remove_all, write_all
from gpualert_common.record.private_directory import open_folder

PROFILES = "profiles"
PROFILE = "profile.json"
PICTURE = "flame.svg"
SPEEDSCOPE = "speedscope.json.gz"
MOST_PROFILES = 5
"""Of one record; a further one takes the place of the oldest."""
_MOST_BYTES = 8 << 20
_MOST_NAMES = 100
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | os.O_NOFOLLOW


def store_profile(record: Record, profile: Profile) -> str:
    """Add a profile to the record, complete or not at all, and return the path of its folder.

    Raises OSError, also for one that is too large.
    """
    name = time.strftime("%Y%m%dT%H%M%S", time.gmtime(profile.at)) + f".{os.getpid()}"
    cwd = record.spec.cwd
    contents = {
        PROFILE: encode_json(encode(profile)).encode("utf-8", "replace"),
        PICTURE: draw_flame_graph(profile, cwd=cwd).encode("utf-8", "replace"),
        SPEEDSCOPE: gzip.compress(make_speedscope(profile, record.run_id)),
    }
    for file, data in contents.items():
        if len(data) > _MOST_BYTES:
            raise OSError(0, f"{file} has more than {_MOST_BYTES >> 20} MiB")
    folder = open_folder(record.path, PROFILES, create=True)
    try:
        temporary = f".{name}"
        os.mkdir(temporary, 0o700, dir_fd=folder)
        try:
            for file, data in contents.items():
                _write(folder, f"{temporary}/{file}", data)
            os.rename(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
        except BaseException:
            _remove(folder, temporary)
            raise
        _remove_old(folder, name)
    finally:
        os.close(folder)
    return os.path.join(record.path, PROFILES, name)


def list_profiles(record: Record) -> list[str]:
    """Return the names of the profiles in the record, oldest first."""
    try:
        names = os.listdir(os.path.join(record.path, PROFILES))
    except OSError:
        return []
    return sorted(one for one in names if not one.startswith("."))[-_MOST_NAMES:]


def read_profiles(record: Record) -> Iterator[tuple[str, Profile]]:
    """Yield the path and the profile of each folder, newest first, without damaged ones."""
    for name in reversed(list_profiles(record)):
        try:
            profile = read_profile(record, name)
        except RecordError:
            continue
        yield os.path.join(record.path, PROFILES, name), profile


def read_profile(record: Record, name: str) -> Profile:
    """Return one profile of the record.  Raises RecordError, also for a damaged one."""
    file = f"{PROFILES}/{name}/{PROFILE}"
    where = os.path.join(record.path, file)
    fields = record.read_json(file, _MOST_BYTES)
    if fields is None:
        raise RecordError(f"{where}: missing")
    profile = decode(Profile, fields, where)
    if not profile.is_sound:
        raise DamagedFileError(f"{where}: its numbers contradict each other")
    return profile


def _remove_old(folder: int, newest: str) -> None:
    """Remove the oldest profiles beyond the limit, and what processes left that were killed."""
    names = sorted(os.listdir(folder))
    others = [one for one in names if not one.startswith(".") and one != newest]
    rests = [one for one in names if one.startswith(".") and _is_abandoned(one)]
    for name in [*others[: max(0, len(others) - MOST_PROFILES + 1)], *rests]:
        _remove(folder, name)


def _is_abandoned(temporary: str) -> bool:
    """Return whether the process that wrote this folder has ended; its number is the last part."""
    number = temporary.rpartition(".")[2]
    if not number.isascii() or not number.isdecimal():
        return False
    stat = read_stat(int(number))
    return stat is None or not stat.is_live


def _write(folder: int, name: str, data: bytes) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | OPEN_FLAGS
    fd = os.open(name, flags, 0o600, dir_fd=folder)
    try:
        write_all(fd, data)
    finally:
        os.close(fd)


def _remove(folder: int, name: str) -> None:
    """Remove a profile, as far as that is possible."""
    try:
        fd = os.open(name, _DIRECTORY, dir_fd=folder)
        try:
            remove_all(fd)
        finally:
            os.close(fd)
        os.rmdir(name, dir_fd=folder)
    except OSError:
        pass
