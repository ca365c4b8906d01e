"""The run record: a directory that all other rooms read and write through this one.

==================  ==============================================================  ==============
file                content                                                         written
==================  ==============================================================  ==============
spec.json           the request; names of environment variables, not their values   before launch
output.log          the child's output only (or stdout.log, stderr.log)             by the child
output.idx          "<seconds since start> <bytes of each log>" per line            during the run
events.jsonl        events, one JSON object per line                                during the run
telemetry.jsonl     samples and events of the evidence sources                      during the run
tracing.json        socket of the traces, or why there is none                      before launch
traces/             traces of PyTorch, one folder each                              during the run
stacks.jsonl        dumps of the stacks of its processes                            during the run
profiles/           profiles on request, a folder with files for each               during the run
control/            requests to the supervisor and leases, one file each            by any process
exit.json           how the run ended                                               at the end
verdict.json        why it ended                                                    at the end
guardian.log        errors of the guardian, else empty                              during the run
claim.json          the attempt that took the result; written once                  after the end
outcome.json        the state of the engine's task                                  after the end
successor.json      marks that a later attempt at the task has begun                after the end
outbox/             alerts and their states, one file each                          after the end
job.json            the node that sends the alert about its job, and why            after the end
job_report.json     the job as the alert of this run shows it                       after the end
baseline.json       files that existed when the run began                           during the run
bundle.*.json       manifest of the files of a message                              after the end
sender.log          errors of the sender of alerts, else empty                      after the end
==================  ==============================================================  ==============

Files are written as a whole (temporary file, then rename) or appended to, so that a reader in
another process never sees half of one.  Directories have mode 0700, files 0600; a record of another
user is not trusted.  The supervisor holds a ``flock`` on the directory while it lives: a run is
supervised as long as the lock is held, whatever its process id.
"""

from gpualert_common.record.control import CLAIM, CONTROL
from gpualert_common.record.events import (
    CAPTURE_TAKEN,
    CAPTURE_WANTED,
    LOG_CUT,
    NO_LONGER_WATCHED,
    STACKS_TAKEN,
    STACKS_WANTED,
    WARNING_RAISED,
    Event,
)
from gpualert_common.record.files import make_directory
from gpualert_common.record.record import (
    ALERTS_LOCK,
    EVENTS,
    EXIT,
    INDEX,
    OUTBOX,
    OUTCOME,
    SPARE_BYTES,
    SPEC,
    SUCCESSOR,
    VERDICT,
    Record,
    describe,
    name_spare,
)
from gpualert_common.record.run_state import RunState

__all__ = [
    "ALERTS_LOCK",
    "CAPTURE_TAKEN",
    "CAPTURE_WANTED",
    "CLAIM",
    "CONTROL",
    "EVENTS",
    "EXIT",
    "INDEX",
    "LOG_CUT",
    "NO_LONGER_WATCHED",
    "OUTBOX",
    "OUTCOME",
    "SPARE_BYTES",
    "SPEC",
    "STACKS_TAKEN",
    "STACKS_WANTED",
    "SUCCESSOR",
    "VERDICT",
    "WARNING_RAISED",
    "Event",
    "Record",
    "RunState",
    "describe",
    "make_directory",
    "name_spare",
]
