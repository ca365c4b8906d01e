"""The request for a run, and its end.

Plain classes, because the child waits for this import: :mod:`dataclasses` alone takes longer than
everything else before the launch.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any, Literal

    from gpualert_common.end_record import Sender
    from gpualert_common.launch_record import AlertSettings, Owner

    Streams = Literal["auto", "merged", "apart"]
    LogFull = Literal["fail", "drop"]
    OnHang = Literal["warn", "stop"]
    OnSlowdown = Literal["off", "profile", "trace"]
    CaptureKind = Literal["stacks", "profile", "trace"]

SCHEMA = 1
"""Version of every JSON file of a run record."""

DEFAULT_GRACE_S = 30.0
"""torchrun gives its workers 30 s between TERM and KILL; a shorter grace would cut that off."""

DEFAULT_LOG_RESERVE_BYTES = 1 << 20

DEFAULT_NOTIFY_DEADLINE_S = 15.0
"""Less than the 20 s that Airflow allows between the end of a task and of its process."""

EXIT_TIME_LIMIT = 124
EXIT_NOT_PREPARED = 125
EXIT_NOT_EXECUTABLE = 126
EXIT_NOT_FOUND = 127


ENDED = "ended"
"""Topic of the alert about the end of a run."""
OBSERVER = "observer"
"""Name of the helper process that samples the machine."""
ON_REQUEST = "on request"
"""Reason of the dumps, profiles and traces that a person requests."""
EARLY = "early_"
"""Prefix of the topic of a warning that is sent during a run."""


def message_id(run_id: str, about: str = ENDED) -> str:
    """Return the permanent Message-ID of the alert about a run's end, or another topic."""
    return f"<{run_id}.{about}@gpualert.invalid>"


class RunSpec:
    """Request for one run; not changed once it is built.

    ``timeout_s`` is the wall-clock limit (None: none), ``grace_s`` the time between the first
    signal of a stop and SIGKILL.  After ``hang_timeout_s`` without output (None: never) the run may
    hang; ``on_hang`` says whether that raises a warning or stops it.
    ``on_slowdown`` says what is recorded when its steps become slow.  ``streams`` decides whether
    stdout and stderr share one log.  ``log_full`` is "fail" (the child gets ENOSPC) or "drop" (it
    writes into a pipe, and the bytes that the disk does not take are dropped and counted).  ``pty``
    gives it a terminal to write to, with the same effect of a full disk; the streams are merged
    then.  ``inherit`` passes stdin and other inherited descriptors to the child.  ``sync`` False
    skips every fsync.  ``custody`` has the attempt that owns the run under a guardian, None without
    one.  ``alerts`` has the channels and settings of alerts
    (:func:`gpualert_common.notify.channel_config.resolve_alerts`), ``secrets`` the channels'
    secrets, which are never written to the record.  ``rules`` is a directory (or file) of the
    user's own rules for causes.  ``only_state_dir`` forbids every other directory than
    ``state_dir``.  ``observe`` starts the sampling of the machine, ``tracing`` the
    daemon that PyTorch asks for traces.  ``job`` names the job of the
    run (None: the one of its environment or engine), ``job_dir`` the place that its nodes share.
    """

    __slots__ = (
        "alerts",
        "command",
        "custody",
        "cwd",
        "end_survivors",
        "env",
        "grace_s",
        "hang_timeout_s",
        "inherit",
        "job",
        "job_dir",
        "log_full",
        "log_reserve_bytes",
        "name",
        "observe",
        "on_hang",
        "on_slowdown",
        "only_state_dir",
        "pty",
        "rules",
        "secrets",
        "state_dir",
        "streams",
        "sync",
        "timeout_s",
        "tracing",
    )

    def __init__(
        self,
        command: Sequence[str],
        *,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        timeout_s: float | None = None,
        grace_s: float = DEFAULT_GRACE_S,
        hang_timeout_s: float | None = None,
        on_hang: OnHang = "warn",
        on_slowdown: OnSlowdown = "off",
        streams: Streams = "merged",
        log_full: LogFull = "fail",
        log_reserve_bytes: int = DEFAULT_LOG_RESERVE_BYTES,
        end_survivors: bool = False,
        name: str | None = None,
        state_dir: str | None = None,
        only_state_dir: bool = False,
        inherit: bool = False,
        sync: bool = True,
        custody: Owner | None = None,
        alerts: AlertSettings | None = None,
        secrets: Mapping[str, Any] | None = None,
        rules: str | None = None,
        observe: bool = True,
        tracing: bool = False,
        pty: bool = False,
        job: str | None = None,
        job_dir: str | None = None,
    ) -> None:
        self.job = job
        self.job_dir = job_dir
        self.pty = pty
        self.observe = observe
        self.tracing = tracing or on_slowdown == "trace"
        self.rules = rules
        self.alerts = alerts
        self.secrets = secrets
        self.command = tuple(command)
        self.custody = custody
        self.cwd = cwd
        self.env = env
        self.timeout_s = timeout_s
        self.grace_s = grace_s
        self.hang_timeout_s = hang_timeout_s
        self.on_hang: OnHang = on_hang
        self.on_slowdown: OnSlowdown = on_slowdown
        self.streams: Streams = streams
        self.log_full: LogFull = log_full
        self.log_reserve_bytes = log_reserve_bytes
        self.end_survivors = end_survivors
        self.name = name
        self.state_dir = state_dir
        self.only_state_dir = only_state_dir
        self.inherit = inherit
        self.sync = sync

    @property
    def logs(self) -> tuple[str, ...]:
        """Names of the log files: one for merged streams, stdout before stderr otherwise."""
        return ("stdout.log", "stderr.log") if self.streams == "apart" else ("output.log",)


class EndFacts:
    """Facts about the end of a run that ``exit.json`` does not have.

    ``survivors`` is the number of processes that outlived the run.  ``log_disk_full`` says that the
    log is not complete, for want of space, ``is_log_cut`` that the process that copies to it died.
    ``log_path`` is the log to cite.
    """

    __slots__ = ("is_log_cut", "log_disk_full", "log_path", "survivors")

    def __init__(
        self,
        *,
        log_path: str | None = None,
        survivors: int = 0,
        log_disk_full: bool = False,
        is_log_cut: bool = False,
    ) -> None:
        self.is_log_cut = is_log_cut
        self.log_path = log_path
        self.survivors = survivors
        self.log_disk_full = log_disk_full


class Ending:
    """End of a run, as ``exit.json`` stores it; it depends on the child only.

    ``code`` is the child's own status: 0..255, -n if signal n ended it, None if it is unknown (its
    supervisor died first).  ``started`` is False if the program could not be executed, with the
    reason in ``start_error`` (errno, text).  ``limit`` is "time" if the time limit ended the run,
    "hang" if it was stopped because it hung.
    ``signal`` is the first signal that was forwarded to the run, ``sender`` its sender.
    """

    __slots__ = (
        "code",
        "core_dumped",
        "ended_at",
        "limit",
        "pid",
        "rusage",
        "sender",
        "signal",
        "start_error",
        "started",
        "started_at",
    )

    def __init__(self, started_at: float, ended_at: float | None = None) -> None:
        self.started_at = started_at
        self.ended_at = ended_at
        self.code: int | None = None
        self.core_dumped = False
        self.started = True
        self.pid: int | None = None
        self.start_error: tuple[int, str] | None = None
        self.limit: str | None = None
        self.signal: int | None = None
        self.sender: Sender | None = None
        self.rusage: dict[str, float] | None = None

    @property
    def exit_code(self) -> int | None:
        """Status for Python callers: the child's, or 124, 126 or 127; None if unknown."""
        if self.limit is not None:
            return EXIT_TIME_LIMIT
        if not self.started:
            import errno

            missing = self.start_error is not None and self.start_error[0] == errno.ENOENT
            return EXIT_NOT_FOUND if missing else EXIT_NOT_EXECUTABLE
        return self.code

    @property
    def shell_code(self) -> int:
        """Status for a shell: as ``exit_code``, 128+n for signal n, 125 if unknown."""
        code = self.exit_code
        if code is None:
            return EXIT_NOT_PREPARED
        return 128 - code if code < 0 else code

    def name_sender(self, senders: Mapping[int, Sender]) -> None:
        """Note who sent the signal that ended the child, unless it was stopped.

        A terminal sends its signals to the child, too, which may exit before we can stop it.
        """
        code = self.code or 0
        number = -code if code < 0 else code - 128
        if self.signal is None and self.limit is None and number in senders:
            self.signal, self.sender = number, senders[number]

    def to_json(self) -> dict[str, Any]:
        """Return the object stored as ``exit.json``."""
        fields: dict[str, Any] = {"schema": SCHEMA, "exit_code": self.exit_code}
        fields.update((name, getattr(self, name)) for name in sorted(self.__slots__))
        return fields

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> Ending:
        """Return the ending from its :meth:`to_json`; unknown fields are ignored."""
        ending = cls(fields.get("started_at") or 0.0)
        for name in cls.__slots__:
            if name in fields:
                setattr(ending, name, fields[name])
        if ending.start_error is not None:
            ending.start_error = (ending.start_error[0], ending.start_error[1])
        return ending
