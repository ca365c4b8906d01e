"""Program that freezes the files of a run that has just ended.

Its stdin is one JSON object with the path of the record (:mod:`gpualert_common.processes.program`).
Nothing waits for it but a sender, for some seconds.  The kernel kills it at its deadline; its
failures do not affect the run, and leave the alert to :func:`.changes.find_changes`.
"""

from __future__ import annotations

import json
import os
import sys

from gpualert_common.artifacts.snapshot_program import limit_resources

DEADLINE_S = 30
"""For a busy machine, and for a folder that does not answer."""


def main() -> None:
    """Freeze the files of one run; exits, never returns."""
    request = json.load(sys.stdin)
    if os.fork():
        os._exit(0)  # this process has no parent: an engine may kill the children of its task
    try:
        limit_resources(DEADLINE_S)
        from gpualert_common.artifacts.freeze import freeze
        from gpualert_common.record import Record

        freeze(Record.open(request["record"]))
    except Exception:  # noqa: BLE001 - the boundary: nothing waits for this process
        os._exit(1)
    os._exit(0)
