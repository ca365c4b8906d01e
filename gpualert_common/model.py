"""Data that the stages pass on: verdict, claims, artifacts.

What must exist before the child is launched stands in :mod:`gpualert_common.spec`; this module
is imported after it, because its imports cost more than the whole launch.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from gpualert_common.structs import DataclassStruct, Struct, field

if TYPE_CHECKING:
    from gpualert_common.end_record import SchedulerStop, Sender

SCHEMA = 1
"""Version of every JSON object that gpualert writes."""


class Disposition(StrEnum):
    """Outcome of a run, without its cause."""

    COMPLETED = "completed"
    FAILED = "failed"
    KILLED = "killed"
    TIMEOUT = "timeout"
    CANCELLED = "cancelled"
    PREEMPTED = "preempted"
    NOT_STARTED = "not_started"
    RUNNING = "running"
    UNKNOWN = "unknown"


class Attribution(StrEnum):
    """Part that is at fault."""

    JOB = "job"
    INFRASTRUCTURE = "infrastructure"
    SCHEDULER = "scheduler"
    EXTERNAL = "external"
    UNKNOWN = "unknown"
    NONE = "none"


class Retry(StrEnum):
    """Place where a retry may help."""

    SAME = "same"
    ELSEWHERE = "elsewhere"
    AFTER_FIX = "after_fix"
    NO = "no"


class StopOrigin(StrEnum):
    """Origin of a stop of a run."""

    KEYBOARD = "keyboard"
    """A person at its terminal: Ctrl-C."""
    HANGUP = "hangup"
    """Its terminal was closed."""
    COMMAND = "command"
    """A person, by ``gpualert stop`` or on a page of ``gpualert web``."""
    CALLER = "caller"
    """A person who interrupted the program that called ``run()``."""
    ENGINE = "engine"
    """A workflow engine, or a guardian, which gave the reason."""
    SCHEDULER = "scheduler"
    """A program of a scheduler."""
    TIME_LIMIT = "time_limit"
    """Its own time limit."""
    HANG = "hang"
    """Its own limit for a time without progress."""
    PROGRAM = "program"
    """Another program, or an unknown sender."""


class RunPlace(StrEnum):
    """Place of the processes of a run, as seen from here."""

    HERE = "here"
    OTHER_HOST = "other_host"
    OTHER_BOOT = "other_boot"
    OTHER_CONTAINER = "other_container"


class RecoveryOutcome(StrEnum):
    """The state of a record after an attempt to recover it."""

    COMPLETE = "complete"
    """It needed nothing."""
    SUPERVISED = "supervised"
    """Its supervisor is alive."""
    RUNNING = "running"
    """The run continues without a supervisor."""
    ELSEWHERE = "elsewhere"
    """The processes of the run are not visible from here."""
    NOT_LAUNCHED = "not launched"
    """There is no run to recover."""
    RECOVERED = "recovered"
    """It has its ending and its verdict now."""


class Role(StrEnum):
    """Meaning of a match of a rule: an observation, never a verdict by itself.

    A report is the summary of a launcher about its children: it has details, but names no cause.
    """

    ROOT = "root"
    CASCADE = "cascade"
    CONFIRMATION = "confirmation"
    REPORT = "report"
    BENIGN = "benign"


class EvidenceKind(StrEnum):
    """Kind of the evidence for a cause.  Two sources do not repeat each other."""

    STATUS = "exit status only"
    LINE = "one line"
    EXCEPTION = "exception"
    SOURCES = "two sources"
    MEASUREMENTS = "measurements"
    SUCCESS = "no failure"


class ExitFacts(Struct, frozen=True):
    """Facts about the end of a run besides its log.

    ``code`` is the child's own status: 0..255, -n when signal n ended it, None when unknown.
    ``started`` is False when the program could not be executed; ``start_error`` then holds the
    errno and the text.  ``limit`` is "time" when our own time limit ended the run.  ``signal``
    is the first signal that was passed on to the run and ``sender`` who sent it; ``scheduler`` is
    the stop by a scheduler, according to its records.
    ``log_disk_full`` is True when the disk of the log had no space left while the child ran, which
    the child did not notice if ``is_log_dropped`` (its output goes through a pipe);
    ``is_log_cut`` when the process that copies the output to the log died.
    ``log_bytes_at_stop`` are the sizes of the logs when the run was stopped, as far as known.
    ``no_status`` is a sentence that says why the status of a watched process is not known.
    """

    code: int | None
    started: bool = True
    start_error: tuple[int, str] | None = None
    limit: str | None = None
    signal: int | None = None
    sender: Sender | None = None
    scheduler: SchedulerStop | None = None
    duration_s: float | None = None
    survivors: int = 0
    log_disk_full: bool = False
    is_log_dropped: bool = False
    is_log_cut: bool = False
    log_bytes_at_stop: Mapping[str, int] = field(default_factory=dict)
    no_status: str | None = None


class LogLocation(DataclassStruct, frozen=True):
    """A place in a log: file name, line (from 1) and byte offset of the line's first byte.

    The line is None behind a part of the log that was not read.
    """

    file: str
    line: int | None
    offset: int


class Claim(DataclassStruct, frozen=True):
    """One thing that the evidence shows, and where it was read."""

    claim: str
    source: str
    where: LogLocation | None = None
    excerpt: str | None = None
    rank: int | None = None


class RuledOutFamily(DataclassStruct, frozen=True):
    """A family of failures that the evidence speaks against, and why."""

    family: str
    because: str


class SecondaryCause(DataclassStruct, frozen=True):
    """Another cause that the evidence shows, and why it is not the root cause."""

    cause: str
    because: str


class VerdictWarning(DataclassStruct, frozen=True):
    """A remark about the run, or about the verdict itself, for people; ``kind`` is for programs."""

    kind: str
    text: str


class SourceStatus(DataclassStruct, frozen=True):
    """Status of an evidence source: available or not, the reason, and a remedy.

    Of a log: the file, the number of bytes that were read, and the spans that were not.
    """

    name: str
    available: bool
    why: str | None = None
    remedy: str | None = None
    file: str | None = None
    bytes_read: int | None = None
    unscanned: tuple[tuple[int, int], ...] | None = None


class Verdict(DataclassStruct, frozen=True):
    """The cause of a run's end, the evidence for it, and what to do.

    Stored by :func:`gpualert_common.codec.encode`: the JSON keys are the field names.  ``details``
    depend on the cause.  ``measured`` holds the run's resources and progress as numbers;
    ``message_id`` is that of the alert about it, sent or not, None for a log without a run.
    """

    headline: str
    cause: str
    disposition: Disposition
    attribution: Attribution
    retry: Retry
    confidence: float
    exit_code: int | None
    signal: str | None
    run_id: str | None
    attempt: int
    host: str | None
    log_path: str | None
    family: str | None
    fault_class: str | None
    paper_class: str | None
    details: dict[str, Any] = field(default_factory=dict)
    shows: tuple[Claim, ...] = ()
    implies: str = ""
    cannot_decide: tuple[str, ...] = ()
    do: tuple[str, ...] = ()
    ruled_out: tuple[RuledOutFamily, ...] = ()
    secondary: tuple[SecondaryCause, ...] = ()
    warnings: tuple[VerdictWarning, ...] = ()
    sources: tuple[SourceStatus, ...] = ()
    measured: dict[str, int | float | str | bool] = field(default_factory=dict)
    message_id: str | None = None
    schema: int = SCHEMA

    @property
    def is_healthy(self) -> bool:
        """True when the run completed and no failure was found."""
        return self.disposition is Disposition.COMPLETED and self.cause == "none"

    def find_cited_log(self, logs: Collection[str]) -> str | None:
        """Return the first of *logs* that the evidence cites, None if it cites none of them."""
        cited = (claim.where.file for claim in self.shows if claim.where is not None)
        return next((name for name in cited if name in logs), None)


class Fate(StrEnum):
    """Outcome for a file that a message could have carried."""

    ATTACHED = "attached"
    COMPRESSED = "compressed"
    TRUNCATED = "truncated"
    LEFT_IN_PLACE = "left in place"
    UNREADABLE = "unreadable"
    VANISHED = "vanished"


class Artifact(Struct, frozen=True):
    """A file of a run, and what became of it in one message: a row of the manifest.

    ``name`` is the path as people are shown it, relative to the run's directory where it lies in
    it, and redacted; ``why`` completes "attached because ..." where that is not plain.  ``sha256``
    is that of the file on the disk, None where it was not read whole.  ``sent_bytes`` is what the
    message carries of it, ``redactions`` how many secrets were masked in that.
    """

    path: str
    name: str
    size_bytes: int | None
    fate: Fate
    why: str = ""
    sha256: str | None = None
    sent_bytes: int = 0
    redactions: int = 0


class Attachment(Struct, frozen=True):
    """A file in a message: a name without folders, redacted, and what is in it."""

    name: str
    content: bytes
    media_type: str


class ReportForm(StrEnum):
    """Form in which a message carries the report of a run."""

    NONE = "none"
    PAGE = "page"
    """One HTML file."""
    PICTURE = "picture"
    """The timeline of the run as PNG."""


class CarriedReport(Struct, frozen=True):
    """The report of a run in a message: attached, or left out with the reason in ``why``."""

    name: str
    form: ReportForm
    is_attached: bool
    why: str = ""
    sent_bytes: int = 0


class Bundle(Struct, frozen=True):
    """Files that a message carries, and the manifest of all candidates.

    ``beyond_cap`` counts candidates that are not listed in ``artifacts``; ``notes`` say what the
    search for them did not see.  ``report`` is None where the channel wants none.
    """

    artifacts: tuple[Artifact, ...] = ()
    attachments: tuple[Attachment, ...] = ()
    beyond_cap: int = 0
    notes: tuple[str, ...] = ()
    report: CarriedReport | None = None
