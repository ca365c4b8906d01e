"""Records of runs that something else supervised.

For tasks of other operators, whose callbacks know an exception, an exit code and maybe a log, and
for test messages.  Such a record has the same form as any other.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import re
import time
import traceback
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any

from gpualert_common import record_locations
from gpualert_common.classifier import RunClassifier
from gpualert_common.codec import encode
from gpualert_common.diagnose.missing_evidence import mark_output_unread
from gpualert_common.errors import ConfigError, NoDurableLogError
from gpualert_common.launch_record import AlertSettings, EngineTask, LaunchRecord
from gpualert_common.model import Claim, SourceStatus, Verdict
from gpualert_common.notify.sender_launch import start_freeze
from gpualert_common.processes.host import host_name
from gpualert_common.record import EXIT, OUTCOME, SPEC, VERDICT, Record
from gpualert_common.record.private_directory import make_folder, resolve_state_dir
from gpualert_common.settings import load_settings
from gpualert_common.spec import SCHEMA, EndFacts, Ending
from gpualert_common.structs import Struct, field, replace
from gpualert_common.whole_words import cut_words

LOG = "output.log"

_STATUS = re.compile(r"\b(?:exit|return|status) (?:code|status):? (-?\d{1,5})\b")
_MOST_ERROR_CHARACTERS = 64 << 10


class ExternalRun(Struct, frozen=True):
    """A finished run that another program supervised, as an engine's objects describe it.

    ``key`` names the task and is the same for all of its attempts; ``number`` is this attempt, and
    ``shown_number`` its number for people, if it is another one; ``task`` names it for people.
    ``state`` is the engine's state, "success" where all went well.  ``log`` is the known output,
    the exception included.  ``unread_log`` are the name of a log that could not be read and the
    reason; it lowers the confidence of the verdict.  ``summary`` is the failure in one line.
    ``statement`` is the engine's sentence about a run that has no exit status of its own, as
    evidence for the verdict.
    """

    key: tuple[str, ...]
    number: int
    name: str
    state: str
    ending: Ending
    is_last: bool = True
    command: tuple[str, ...] = ()
    log: bytes = b""
    unread_log: tuple[str, str] | None = None
    summary: str = ""
    statement: str = ""
    task: EngineTask = field(default_factory=EngineTask)
    shown_number: int | None = None

    @property
    def run_id(self) -> str:
        """The id of the run: the same for every caller that describes this attempt."""
        return run_id_of(self.key, self.number, self.ending.started_at)

    def record(self, alerts: AlertSettings | None, state_dir: str | None) -> Record:
        """Return the record of the run; a record that exists already is returned as it is.

        ``alerts`` are its channels.  Raises NoDurableLogError.
        """
        has_status = self.ending.code is not None or not self.statement
        record = record_run(
            self.ending,
            run_id=self.run_id,
            state_dir=state_dir,
            log=self.log,
            unread_log=self.unread_log,
            verdict=None if has_status else _conclude_without_status(self),
            name=self.name,
            command=list(self.command),
            cwd=None,
            custody={
                "key": self.key,
                "number": self.number,
                "told_as": self.shown_number,
                "is_last": self.is_last,
                "task": self.task,
            },
            alerts=None if alerts is None else dict(alerts),
            **({"said": self.summary} if self.summary else {}),
        )
        if record.read_json(OUTCOME) is None:
            outcome = {
                "schema": SCHEMA,
                "state": self.state,
                "final": self.is_last,
                "number": self.number,
                "told_as": self.shown_number,
                "at": self.ending.ended_at,
                "next_within_s": None,
            }
            with contextlib.suppress(OSError):  # alerts are sent without it, too
                record.write_json(OUTCOME, outcome)
            if alerts is not None and alerts["artifacts"]:
                with contextlib.suppress(OSError):
                    start_freeze(record.path)
        return record


def find_exit_code(text: str) -> int | None:
    """Return the exit status that an error message names; None for 0 and for none."""
    found = _STATUS.search(text)
    return int(found[1]) or None if found is not None else None


def format_error(error: BaseException) -> str:
    """Return an exception without its frames, as the interpreter prints it; a long one is cut."""
    return _cut_message(error) or "".join(traceback.format_exception_only(error))


def format_traceback(error: BaseException, frames: TracebackType | None) -> str:
    """Return an exception with *frames* and chained exceptions, as the interpreter prints it."""
    short = _cut_message(error)
    if short is not None:
        return "".join([*traceback.format_tb(frames), short])
    return "".join(traceback.format_exception(type(error), error, frames))


def _cut_message(error: BaseException) -> str | None:
    """Return the beginning of an exception whose message is too long to print."""
    with contextlib.suppress(Exception):  # its __str__ may fail
        message = str(error)
        if len(message) > _MOST_ERROR_CHARACTERS:
            return f"{type(error).__name__}: {cut_words(message, _MOST_ERROR_CHARACTERS // 2)}"
    return None


def run_id_of(key: Sequence[str], number: int, started_at: float) -> str:
    """Return a run id that is the same for every caller that describes this attempt."""
    digest = hashlib.sha256(repr((tuple(key), number)).encode("utf-8", "replace")).hexdigest()
    day = time.strftime("%Y%m%d-%H%M%S", time.gmtime(started_at))
    return f"{day}-{int(started_at % 1 * 1e6):06d}-{digest[:12]}"


def record_run(
    ending: Ending,
    *,
    run_id: str | None = None,
    state_dir: str | None = None,
    log: bytes = b"",
    unread_log: tuple[str, str] | None = None,
    verdict: Verdict | None = None,
    **facts: Any,
) -> Record:
    """Return the record of a finished run; a record that exists already is returned as it is.

    ``log`` is the known output, ``unread_log`` as in :class:`ExternalRun`.  Without ``verdict`` the
    run is classified.  ``facts`` go into the launch record: name, command, cwd, custody, alerts.
    Raises NoDurableLogError.
    """
    run_id = run_id or record_locations.new_run_id()
    tried = []
    for place in record_locations.list_state_dirs(state_dir):
        try:
            runs = make_folder(resolve_state_dir(place), record_locations.RUNS)
            path = os.path.join(runs, run_id)
            if os.path.lexists(path):
                return Record.open(path)
            return _record_at(path, ending, log, unread_log, verdict, facts)
        except OSError as error:
            tried.append((place, error.strerror or str(error)))
    raise NoDurableLogError(tried)


def own_rules() -> str | None:
    """Return the directory of the user's own rules; None where the configuration is unreadable."""
    try:
        found: str | None = load_settings()["rules"].value
    except ConfigError:
        return None
    return found


def _record_at(
    path: str,
    ending: Ending,
    log: bytes,
    unread_log: tuple[str, str] | None,
    verdict: Verdict | None,
    facts: Mapping[str, Any],
) -> Record:
    runs, run_id = os.path.split(path)
    record = Record.create(os.path.join(runs, f".{run_id}.{os.getpid()}"))
    try:
        spec = {
            "schema": SCHEMA,
            "run_id": run_id,
            "command": [],
            "logs": [LOG],
            "host": host_name(),
            "created_at": ending.started_at,
            "supervised": False,
            "rules": own_rules(),
            **facts,
        }
        fd = record.create_log(LOG)
        with open(fd, "wb") as file:
            file.write(log)
        record.write_json(SPEC, spec)
        if verdict is None:
            classifier = RunClassifier(LaunchRecord.of_own(spec))
            classifier.feed(LOG, log, 0)
            verdict = classifier.conclude(ending, EndFacts(log_path=os.path.join(path, LOG)))
        if unread_log is not None:
            verdict = mark_output_unread(verdict, *unread_log, has_exception=bool(log.strip()))
        record.write_json(VERDICT, encode(verdict))
        record.write_json(EXIT, {**ending.to_json(), "survivors": []}, sync=True)
        os.rename(record.path, path)  # complete, or absent
    except BaseException as error:
        record.discard()
        if isinstance(error, OSError) and error.errno in (errno.ENOTEMPTY, errno.EEXIST):
            return Record.open(path)  # another process was quicker
        raise
    record.close()
    return Record.open(path)


def _conclude_without_status(run: ExternalRun) -> Verdict:
    """Return the verdict on a run that was no process: its exception counts as a bad exit status.

    The engine's statement takes the place of the exit status in the evidence.
    """
    classifier = RunClassifier(
        LaunchRecord(
            run_id=run.run_id,
            host=host_name(),
            custody={"number": run.number, "told_as": run.shown_number},
            rules=own_rules(),
        )
    )
    classifier.feed(LOG, run.log, 0)
    as_process = Ending.from_json({**run.ending.to_json(), "code": 1})
    verdict = classifier.conclude(as_process, EndFacts())
    no_status = SourceStatus("exit_status", available=False, why="it was no process of its own")
    sources = [source for source in verdict.sources if source.name != no_status.name]
    is_unexplained = run.ending.signal is None and len(verdict.shows) == 1
    return replace(
        verdict,
        exit_code=None,
        headline=(run.summary or run.statement) if is_unexplained else verdict.headline,
        shows=(Claim(run.statement, "engine"), *verdict.shows[1:]),
        details={name: one for name, one in verdict.details.items() if name != "signal_name"},
        sources=(*sources, no_status),
    )
