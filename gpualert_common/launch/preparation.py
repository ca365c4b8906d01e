"""Preparation of a run: a record whose log exists, is proven writable and is on the disk.

Everything here may fail; nothing has been launched then.
"""

from __future__ import annotations

import os
import time

from gpualert_common import record_locations
from gpualert_common.errors import NoDurableLogError
from gpualert_common.launch import libc
from gpualert_common.launch.log_file import LogFile
from gpualert_common.processes.host import boot_id, host_name, pid_namespace
from gpualert_common.record import (
    SPARE_BYTES,
    SPEC,
    Record,
    describe,
    name_spare,
)
from gpualert_common.record.marks import UNFINISHED
from gpualert_common.record.private_directory import make_folder, resolve_state_dir
from gpualert_common.slurm_place import find_slurm_place
from gpualert_common.spec import RunSpec

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from gpualert_common.kineto.daemon_launch import TracingDaemon

_PROBE_BYTES = 64 << 10
"""Written and removed where space cannot be reserved: more than a filesystem keeps inline."""


class PreparedRun:
    """A record that is ready, descriptors for the child's output, and logs to read that.

    ``tried`` has the locations that failed before this one, each with its problem.  ``tracing`` is
    the daemon for its traces, None without one.
    """

    __slots__ = ("launch_record", "log_fds", "logs", "record", "tracing", "tried")

    def __init__(
        self,
        record: Record,
        log_fds: list[int],
        logs: list[LogFile],
        launch_record: dict[str, Any],
        tried: list[tuple[str, str]],
    ) -> None:
        self.record = record
        self.log_fds = log_fds
        self.logs = logs
        self.launch_record = launch_record
        self.tried = tried
        self.tracing: TracingDaemon | None = None

    def close(self) -> None:
        """Close the descriptors for the child's output."""
        for fd in self.log_fds:
            os.close(fd)
        self.log_fds = []


def prepare_run(spec: RunSpec, facts: Mapping[str, object] | None = None) -> PreparedRun:
    """Return a run with a durable log, in the first location that can keep one.

    The launch record is written then, the log file is empty and writable, its space is reserved,
    and file and directory are synced.  ``facts`` replace those of the launch record.  Raises
    NoDurableLogError where no location can do that.
    """
    tried: list[tuple[str, str]] = []
    run_id = record_locations.new_run_id()
    for place in record_locations.list_state_dirs(spec.state_dir, only=spec.only_state_dir):
        try:
            return _prepare_at(place, run_id, spec, tried, facts or {})
        except OSError as error:
            tried.append((place, error.strerror or str(error)))
    raise NoDurableLogError(tried)


def _prepare_at(
    place: str,
    run_id: str,
    spec: RunSpec,
    tried: list[tuple[str, str]],
    facts: Mapping[str, object],
) -> PreparedRun:
    runs = make_folder(resolve_state_dir(place), record_locations.RUNS)
    record = Record.create(os.path.join(runs, run_id), sync=spec.sync)
    log_fds: list[int] = []
    logs: list[LogFile] = []
    try:
        reserved = 0
        for name in spec.logs:
            log_fds.append(record.create_log(name))
            reserved = _prove_writable(record, log_fds[-1], spec.log_reserve_bytes)
            logs.append(LogFile(name, record.log_path(name), record.open_log(name)))
        if reserved:
            _keep_spare(record)
        own_facts: dict[str, object] = {
            "created_at": time.time(),
            "cwd": spec.cwd or _working_directory(),
            "host": host_name(),
            "uid": os.geteuid(),
            "boot_id": boot_id(),
            "pid_namespace": pid_namespace(),
            "supervisor_pid": os.getpid(),
            "environment": sorted(os.environ if spec.env is None else spec.env),
            "slurm": find_slurm_place(os.environ if spec.env is None else spec.env),
            "reserved_bytes": reserved,
            "tried": tried,
        }
        launch_record = describe(spec, record, **{**own_facts, **facts})
        record.write_json(SPEC, launch_record)
        _mark_unfinished(record)
        if spec.sync:
            for fd in log_fds:
                os.fsync(fd)
            record.sync_directory()
    except BaseException:
        for fd in log_fds:
            os.close(fd)
        record.discard()
        raise
    return PreparedRun(record, log_fds, logs, launch_record, tried)


def _prove_writable(record: Record, fd: int, size: int) -> int:
    """Reserve space for the log, or prove that bytes reach the disk; return the reserved bytes."""
    if size:
        try:
            libc.reserve(fd, size)
        except OSError as error:
            if error.errno not in libc.UNSUPPORTED:
                raise
        else:
            return size
    probe = record.create_log(".probe")
    try:
        os.write(probe, b"\n" * _PROBE_BYTES)
        os.fsync(probe)
    finally:
        os.close(probe)
        record.remove(".probe")
    return 0


def _keep_spare(record: Record) -> None:
    for name, size in SPARE_BYTES.items():
        fd = record.create_log(name_spare(name))
        try:
            libc.reserve(fd, size)
        finally:
            os.close(fd)


def _mark_unfinished(record: Record) -> None:
    """Mark the run for those who find it if its supervisor dies."""
    try:
        UNFINISHED.add(record.path)
    except OSError:
        pass  # `gpualert recover` reads every record


def _working_directory() -> str | None:
    try:
        return os.getcwd()
    except OSError:
        return None
