"""Reports of finished runs, kept where Airflow's API server can read them.

Airflow's option ``[gpualert] report_store`` names the place: "xcom", or the URL of a folder that
``ObjectStoragePath`` opens.  Without it the API server reads the record of the run, if it can.
"""

from __future__ import annotations

import base64
import binascii
import os
import threading
import zlib
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from airflow.providers.common.compat.sdk import conf

from gpualert_common.structs import Struct
from gpualert_provider.alerts import get_left_s
from gpualert_provider.identity import get_map_index, make_task_key
from gpualert_provider.xcom import make_redactor

if TYPE_CHECKING:
    from gpualert_common.record import Record
    from gpualert_provider.alerts import Log, Secrets

REPORT_KEY = "gpualert_report"
"""Key in XCom; each attempt replaces the report of the one before it."""

MOST_REPORT_BYTES = 4 << 20
"""Limit for a report that is read; :func:`gpualert_common.run_report.make_report` stays below."""
MOST_STORED_BYTES = 1 << 20
"""Limit for a compressed report."""
DEADLINE_S = 30.0
"""The task waits so long for its report to be stored."""

_SECTION = "gpualert"
_OPTION = "report_store"
_XCOM = "xcom"
_NONE = ("", "none")


_LOCAL = ("", "file", "local")
_FOLDER_MODE, _FILE_MODE = 0o750, 0o640
"""Modes in a local store, of which the umask removes more: others never read a report."""


class ReportStoreError(Exception):
    """The option that names the report store cannot be read."""


class ReportName(Struct, frozen=True):
    """Name of a stored report: an attempt at a task instance."""

    dag_id: str
    run_id: str
    task_id: str
    map_index: int
    number: int

    def list_parts(self) -> list[str]:
        """Return the folders and the file of the report, each safe as a part of a path."""
        names = (self.dag_id, self.run_id, self.task_id)
        return [*map(_make_safe, names), str(self.map_index), f"{self.number}.html.z"]


def _make_safe(name: str) -> str:
    """Return a name that no store reads as a path; another name for each name."""
    from urllib.parse import quote

    quoted = quote(name, safe="")
    return quoted.replace(".", "%2E") if not quoted.strip(".") else quoted


def get_store() -> str:
    """Return the configured place: "xcom", a URL, or "" for none.  Raises ReportStoreError."""
    try:
        value = str(conf.get(_SECTION, _OPTION, fallback="") or "").strip()
    except Exception as error:  # a command or a secrets back-end may also give the value
        raise ReportStoreError(  # without the value, which may contain a password
            f"Airflow's option [{_SECTION}] {_OPTION} cannot be read ({type(error).__name__}); "
            "in airflow.cfg write %% for each %"
        ) from error
    return "" if value.lower() in _NONE else _XCOM if value.lower() == _XCOM else value


def is_in_xcom(store: str) -> bool:
    """Return True for the store that is XCom."""
    return store == _XCOM


def store_report(ti: Any, record: Record, log: Log, *, secrets: Secrets, with_xcom: bool) -> None:
    """Store the report of a run that has ended, if a place is configured.

    Likely secrets are masked, and so are the *secrets* of the task's own channels.  A failure is
    logged and has no other effect.  The task waits at most :data:`DEADLINE_S`, and not until its
    ``execution_timeout``.  Without ``with_xcom`` nothing is pushed to XCom.
    """
    try:
        store = get_store()
    except ReportStoreError as error:
        log.warning("The report is not stored: %s", error)
        return
    if not store or make_task_key(ti) is None or (is_in_xcom(store) and not with_xcom):
        return
    left_s = get_left_s()
    within_s = DEADLINE_S if left_s is None else min(DEADLINE_S, left_s)
    problems: list[str] = []
    made: list[bytes] = []

    def work() -> None:
        try:
            made.append(make_stored_report(record, secrets))
            if not is_in_xcom(store):
                write_file(store, _name_of(ti), made[0])
        except Exception as error:  # noqa: BLE001 - a report does not change the task
            problems.append(f"{type(error).__name__}: {error}")

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(within_s)
    if thread.is_alive():
        problems.append(f"not done after {within_s:.0f} s")
    elif not problems and is_in_xcom(store):
        try:  # here, since Airflow's connection to its supervisor is not for threads
            ti.xcom_push(key=REPORT_KEY, value=base64.b64encode(made[0]).decode())
        except Exception as error:  # noqa: BLE001 - a failing database does not fail the training
            problems.append(str(error))
    for problem in problems:
        log.warning("The report could not be stored in %s: %s", store, problem)


def make_stored_report(record: Record, secrets: Secrets) -> bytes:
    """Return the compressed report of a run.  Raises ValueError if it is too large."""
    from gpualert_common.run_report import make_report

    page = make_report(record, masks=make_redactor(secrets))
    data = zlib.compress(page.encode("utf-8", "replace"), 9)
    if len(data) > MOST_STORED_BYTES:
        raise ValueError(f"it has {len(data)} bytes; the limit is {MOST_STORED_BYTES}")
    return data


def _name_of(ti: Any) -> ReportName:
    number = getattr(ti, "try_number", None) or 1
    return ReportName(ti.dag_id, ti.run_id, ti.task_id, get_map_index(ti), number)


def write_file(store: str, name: ReportName, data: bytes) -> None:
    """Write a report below the URL of the store."""
    path = _open_store(store).joinpath(*name.list_parts())
    if path.protocol in _LOCAL:
        _write_local(path.path, data)
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def _write_local(path: str, data: bytes) -> None:
    _make_folders(os.path.dirname(os.path.abspath(path)))
    with open(path, "wb", opener=lambda name, flags: os.open(name, flags, _FILE_MODE)) as file:
        file.write(data)


def _make_folders(path: str) -> None:
    """Make a folder and those above it.  ``os.makedirs`` gives its mode to the last one only."""
    above = os.path.dirname(path)
    if not os.path.isdir(above):
        _make_folders(above)
    with suppress(FileExistsError):
        os.mkdir(path, _FOLDER_MODE)


def read_file(store: str, name: ReportName) -> str | None:
    """Return a report from below the URL of the store; None if there is none."""
    path = _open_store(store).joinpath(*name.list_parts())
    try:
        with path.open("rb") as file:
            data = file.read(MOST_STORED_BYTES + 1)
    except FileNotFoundError:
        return None
    return unpack(data)


def read_xcom(value: object) -> str | None:
    """Return the report in a value of XCom; None if it is none."""
    if not isinstance(value, str) or len(value) > 2 * MOST_STORED_BYTES:
        return None
    try:
        return unpack(base64.b64decode(value, validate=True))
    except binascii.Error:
        return None


def unpack(data: bytes) -> str | None:
    """Return a report that was compressed; None for other bytes, and for a larger one."""
    if len(data) > MOST_STORED_BYTES:
        return None
    unpacker = zlib.decompressobj()
    try:
        page = unpacker.decompress(data, MOST_REPORT_BYTES)
    except zlib.error:
        return None
    if not unpacker.eof:
        return None
    text = page.decode("utf-8", "replace")
    return text if text[:64].lower().startswith("<!doctype html>") else None


def _open_store(store: str) -> Any:
    from airflow.sdk import ObjectStoragePath

    return ObjectStoragePath(store)
