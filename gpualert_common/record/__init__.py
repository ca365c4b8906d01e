"""The run record: a directory that all other rooms read and write through this one.

==================  ==============================================================  ==============
file                content                                                         written
==================  ==============================================================  ==============
spec.json           what was asked, where, by whom; names of variables, no values   before launch
output.log          the child's bytes and nothing else (or stdout.log, stderr.log)  by the child
output.idx          "<seconds since start> <bytes of each log>" per line            while it runs
events.jsonl        what happened, one object a line                                while it runs
control/            requests to the supervisor and leases, one file each            by anyone of us
exit.json           how it ended                                                    at the end
verdict.json        why                                                             at the end
guardian.log        last words of a guardian, empty unless it broke                 while it runs
claim.json          who took the result; made once, never replaced                  after the end
outcome.json        what the task became for its engine                             after the end
successor.json      that a later attempt at the task has begun                      after the end
outbox/             alerts, one file each, and what became of them                  after the end
baseline.json       files that were there when the run began                        while it runs
bundle.*.json       files that an alert could carry, and what became of them        after the end
sender.log          last words of a sender of alerts, empty unless it broke         after the end
==================  ==============================================================  ==============

Files are written whole (temporary file, then rename) or appended to, so that a reader in another
process never sees half of one.  Directories have mode 0700, files 0600; a record that belongs to
somebody else is not trusted.  The supervisor holds a ``flock`` on the directory for as long as it
lives: that, and never a process id, says that a run is supervised.
"""

from gpualert_common.record.control import CLAIM, CONTROL
from gpualert_common.record.files import make_directory, refuse_strangers
from gpualert_common.record.record import (
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
    spare_of,
)

__all__ = [
    "CLAIM",
    "CONTROL",
    "EVENTS",
    "EXIT",
    "INDEX",
    "OUTBOX",
    "OUTCOME",
    "SPARE_BYTES",
    "SPEC",
    "SUCCESSOR",
    "VERDICT",
    "Record",
    "describe",
    "make_directory",
    "refuse_strangers",
    "spare_of",
]
