"""Records of runs that somebody else supervised, or that never were: the same form, after the fact.

For tasks of other operators, whose callbacks know an exception, an exit code and maybe a log, and
for test messages.  From here on they are told like any other run.
"""

from __future__ import annotations

import errno
import hashlib
import os
import time
from collections.abc import Mapping, Sequence
from typing import Any

from gpualert_common import record_locations
from gpualert_common.classifier import RunClassifier
from gpualert_common.codec import encode
from gpualert_common.errors import ConfigError, NoDurableLogError
from gpualert_common.model import Verdict
from gpualert_common.processes.host import host_name
from gpualert_common.record import EXIT, SPEC, VERDICT, Record, make_directory, refuse_strangers
from gpualert_common.settings import load_settings
from gpualert_common.spec import SCHEMA, Ending

LOG = "output.log"


def run_id_of(key: Sequence[str], number: int, started_at: float) -> str:
    """A run id that is the same whoever tells of this attempt, and however often."""
    digest = hashlib.sha256(repr((tuple(key), number)).encode("utf-8", "replace")).hexdigest()
    day = time.strftime("%Y%m%d-%H%M%S", time.gmtime(started_at))
    return f"{day}-{int(started_at % 1 * 1e6):06d}-{digest[:12]}"


def record_run(
    ending: Ending,
    *,
    run_id: str | None = None,
    state_dir: str | None = None,
    log: bytes = b"",
    verdict: Verdict | None = None,
    **facts: Any,
) -> Record:
    """The record of a run that has ended as ``ending`` says; one that is there already stands.

    ``log`` is what is known of its output; without ``verdict`` one is drawn from both.  ``facts``
    go into the launch record: name, command, cwd, custody, alerts.  Raises NoDurableLogError.
    """
    run_id = run_id or record_locations.new_run_id()
    tried = []
    for place in record_locations.places(state_dir):
        path = os.path.join(place, record_locations.RUNS, run_id)
        try:
            if os.path.lexists(path):
                return Record.open(path)
            make_directory(os.path.dirname(path))
            refuse_strangers(os.path.dirname(path), chosen=state_dir is not None)
            return _record_at(path, ending, log, verdict, facts)
        except OSError as error:
            tried.append((place, error.strerror or str(error)))
    raise NoDurableLogError(tried)


def own_rules() -> str | None:
    """The user's own rules, as configured; none where the configuration cannot be read."""
    try:
        found: str | None = load_settings()["rules"].value
    except ConfigError:
        return None
    return found


def _record_at(
    path: str,
    ending: Ending,
    log: bytes,
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
            judge = RunClassifier(spec)
            judge.feed(LOG, log, 0)
            verdict = judge.conclude(ending, {"log_path": os.path.join(path, LOG)})
        record.write_json(VERDICT, encode(verdict))
        record.write_json(EXIT, {**ending.to_json(), "survivors": []}, sync=True)
        os.rename(record.path, path)  # whole, or not there at all
    except BaseException as error:
        record.discard()
        if isinstance(error, OSError) and error.errno in (errno.ENOTEMPTY, errno.EEXIST):
            return Record.open(path)  # somebody else was quicker
        raise
    record.close()
    return Record.open(path)
