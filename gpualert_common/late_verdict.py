"""Late verdict of a run whose caller has gone on: the program that completes it.

A program (:mod:`gpualert_common.processes.program`).  ``run()`` starts it when its classifier is
late, since a thread ends with the caller's process.  Its stdin is one JSON object: the record, the
descriptor that holds the lock of the record, and the secrets of the alerts (null for no alerts).
"""

from __future__ import annotations

import contextlib
import json
import os
import sys

from gpualert_common.abandoned_runs import mark_finished
from gpualert_common.jobs.reading.opening import has_job_directory
from gpualert_common.jobs.renewal.publication import mark_unpublished
from gpualert_common.processes.bootstrap import extend_import_path
from gpualert_common.record import Record
from gpualert_common.recover import complete
from gpualert_common.run_hooks import send_unsent_alerts
from gpualert_common.supervise.detachment import limit_process
from gpualert_common.supervise.live_classifier import FAILURE_TAIL_BYTES


def main() -> None:
    """Serve one request; exits, never returns."""
    request = json.load(sys.stdin)
    if os.fork():
        os._exit(0)  # this process has no parent: an engine may kill the children of its task
    limit_process()
    extend_import_path(request["sys_path"])
    record = Record.open(request["record"])
    record.adopt_lock(request["lock_fd"])
    try:
        complete(record, most_bytes=FAILURE_TAIL_BYTES)
    except Exception:  # noqa: BLE001 - the boundary: the record says why it has no verdict
        import traceback

        with contextlib.suppress(OSError):  # a full disk
            record.append_event("classifier_failed", problem=traceback.format_exc(limit=-3))
    if has_job_directory(record):
        mark_unpublished(record.path)
    mark_finished(record.path, is_undelivered=request["secrets"] is not None)
    record.release_own_lock()  # a sender that sees it held waits for the verdict
    send_unsent_alerts(record, request["secrets"] or {})
    os._exit(0)
