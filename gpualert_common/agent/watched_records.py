"""Records of watched processes: made, and found again by a watch that is started anew."""

from __future__ import annotations

import os

from gpualert_common.agent.foreign_process import ForeignProcess
from gpualert_common.agent.output_files import Outputs
from gpualert_common.errors import GPUAlertError, UsageError
from gpualert_common.launch.log_file import LogFile
from gpualert_common.launch.preparation import PreparedRun, prepare_run
from gpualert_common.processes.host import boot_id
from gpualert_common.processes.procfs import read_stat
from gpualert_common.record import EXIT, SPEC, Record
from gpualert_common.record.marks import UNFINISHED
from gpualert_common.record.watch_history import Identity, WatchHistory, read_history
from gpualert_common.record_locations import list_places
from gpualert_common.spec import RunSpec


def prepare_watch(spec: RunSpec, process: ForeignProcess, outputs: Outputs) -> PreparedRun:
    """Return the record of a process, ready to be written: the one that an earlier watch left.

    Its ``log_fds`` append to the logs.  Raises UsageError if another watch has it, and
    NoDurableLogError.
    """
    record = find_unended(process, spec.state_dir)
    if record is None:
        return prepare_run(spec, describe_process(process, outputs))
    if not record.take():
        run_id = record.run_id
        raise UsageError(
            f"process {process.pid} is already watched, as {run_id}: gpualert follow {run_id}"
        )
    return _reopen(record, outputs)


def describe_process(process: ForeignProcess, outputs: Outputs) -> dict[str, object]:
    """Return the facts of the launch record that are those of the process, and not ours."""
    return {
        "created_at": process.started_at,
        "uid": process.uid,
        "supervised": False,
        "unread_output": outputs.problem,
    }


def find_unended(process: ForeignProcess, state_dir: str | None) -> Record | None:
    """Return the record of an earlier watch over a process, if that did not record its end."""
    for place in list_places(state_dir):
        for path in UNFINISHED.list_records(place):
            try:
                record = Record.open(path)
                if (process.pid, process.start_ticks) in read_unended(record).unended:
                    return record
                record.close()
            except (GPUAlertError, OSError):
                continue
    return None


def list_unended(state_dir: str | None) -> list[tuple[Identity, int]]:
    """Return a live process of each record that has no end, and that nobody watches any more.

    With each is the number of the process whose output was copied.
    """
    found = []
    for place in list_places(state_dir):
        for path in UNFINISHED.list_records(place):
            try:
                record = Record.open(path)
                history = read_unended(record)
                is_held = record.is_held
                record.close()
            except (GPUAlertError, OSError):
                continue
            process = next(filter(_is_live, history.unended), None)
            if process is not None and not is_held:
                output_of = history.output_of
                is_other = output_of is not None and _is_live(output_of)
                found.append((process, output_of[0] if output_of and is_other else process[0]))
    return found


def read_unended(record: Record) -> WatchHistory:
    """Return the history of a watch of this boot that has no end; an empty one for other records.

    Raises RecordError.
    """
    spec = record.spec
    if spec.supervised or spec.boot_id != boot_id() or record.has(EXIT):
        return WatchHistory()
    return read_history(record)


def _is_live(process: Identity) -> bool:
    stat = read_stat(process[0])
    return stat is not None and stat.is_live and stat.identity == process


def _reopen(record: Record, outputs: Outputs) -> PreparedRun:
    fields = {**record.spec_fields(), "unread_output": outputs.problem}
    record.write_json(SPEC, fields)
    flags = os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
    logs = [LogFile(name, record.log_path(name), record.open_log(name)) for name in record.logs]
    log_fds = [os.open(log.path, flags) for log in logs]
    return PreparedRun(record, log_fds, logs, fields, [])
