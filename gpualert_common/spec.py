"""The request for a run, and its end.

Plain classes on purpose: the child waits for this import, and :mod:`dataclasses` alone takes
longer than everything else that happens before it is launched.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any, Literal, TypeGuard

    Streams = Literal["auto", "merged", "apart"]
    LogFull = Literal["fail", "drop"]

SCHEMA = 1
"""Version of every JSON file of a run record."""

DEFAULT_GRACE_S = 30.0
"""torchrun gives its workers 30 s between TERM and KILL; a shorter grace would cut that off."""

DEFAULT_LOG_RESERVE_BYTES = 1 << 20

DEFAULT_NOTIFY_DEADLINE_S = 15.0
"""Under the 20 s that Airflow leaves a task between its end and the end of its process."""

EXIT_TIME_LIMIT = 124
EXIT_NOT_PREPARED = 125
EXIT_NOT_EXECUTABLE = 126
EXIT_NOT_FOUND = 127


ENDED = "ended"
"""What the alert about a run's end is about."""
EARLY = "early_"
"""Begins the name of what a warning is about that people get while a run goes on."""


def message_id(run_id: str, about: str = ENDED) -> str:
    """The Message-ID of the alert about a run's end, or about something else, always the same."""
    return f"<{run_id}.{about}@gpualert.invalid>"


MOST_SECONDS = 10.0 * 365 * 86400
"""No training waits longer for anybody."""


def is_seconds(value: Any) -> TypeGuard[float]:
    """True for what a request may name as a duration: it comes from a file that any process of
    the user may write."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return number and 0 <= value <= MOST_SECONDS


def is_number(value: Any) -> TypeGuard[int]:
    """True for what a request may name as the number of an attempt."""
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) < 1 << 63


class RunSpec:
    """One run as it was asked for.  Treated as immutable once built.

    ``timeout_s`` is our own wall-clock limit (None: none); ``grace_s`` the time between the first
    signal of a stop and the end of whatever is left.  ``streams`` says whether stdout and stderr
    share one log.  ``log_full`` is "fail" (the child sees ENOSPC) or "drop" (it writes into a pipe
    and what does not fit on the disk is dropped and counted).  ``inherit`` lets stdin and other
    inherited descriptors through to the child.  ``sync`` False leaves out every fsync.
    ``custody`` is what a guardian was told of who may follow the run, None without one.
    ``alerts`` says who is notified (:func:`gpualert_common.notify.channel_config.alerts_of`).
    ``secrets`` holds the channels' secrets; they are never written to the record.
    ``rules`` is a directory (or file) of the user's own rules for causes.  ``observe`` has the
    machine looked at while the run goes on.
    """

    __slots__ = (
        "alerts",
        "command",
        "custody",
        "cwd",
        "end_survivors",
        "env",
        "grace_s",
        "inherit",
        "log_full",
        "log_reserve_bytes",
        "name",
        "observe",
        "rules",
        "secrets",
        "state_dir",
        "streams",
        "sync",
        "timeout_s",
    )

    def __init__(
        self,
        command: Sequence[str],
        *,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        timeout_s: float | None = None,
        grace_s: float = DEFAULT_GRACE_S,
        streams: Streams = "merged",
        log_full: LogFull = "fail",
        log_reserve_bytes: int = DEFAULT_LOG_RESERVE_BYTES,
        end_survivors: bool = False,
        name: str | None = None,
        state_dir: str | None = None,
        inherit: bool = False,
        sync: bool = True,
        custody: Mapping[str, Any] | None = None,
        alerts: Mapping[str, Any] | None = None,
        secrets: Mapping[str, Any] | None = None,
        rules: str | None = None,
        observe: bool = True,
    ) -> None:
        self.observe = observe
        self.rules = rules
        self.alerts = alerts
        self.secrets = secrets
        self.command = tuple(command)
        self.custody = custody
        self.cwd = cwd
        self.env = env
        self.timeout_s = timeout_s
        self.grace_s = grace_s
        self.streams: Streams = streams
        self.log_full: LogFull = log_full
        self.log_reserve_bytes = log_reserve_bytes
        self.end_survivors = end_survivors
        self.name = name
        self.state_dir = state_dir
        self.inherit = inherit
        self.sync = sync

    @property
    def logs(self) -> tuple[str, ...]:
        """Names of the log files: one for merged streams, stdout before stderr otherwise."""
        return ("stdout.log", "stderr.log") if self.streams == "apart" else ("output.log",)


class Ending:
    """How a run ended; ``exit.json`` is this, and nothing in it depends on anything but the child.

    ``code`` is the child's own status: 0..255, -n when signal n ended it, None when it is unknown
    (its supervisor died first).  ``started`` is False when the program could not be executed, with
    the reason in ``start_error`` (errno, text).  ``limit`` is "time" when our limit ended the run.
    ``signal`` is the first signal passed on to the run, ``sender`` who sent it.
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
        self.sender: dict[str, Any] | None = None
        self.rusage: dict[str, float] | None = None

    @property
    def exit_code(self) -> int | None:
        """Status for Python callers: the child's, or 124, 126 or 127; None when unknown."""
        if self.limit is not None:
            return EXIT_TIME_LIMIT
        if not self.started:
            import errno

            missing = self.start_error is not None and self.start_error[0] == errno.ENOENT
            return EXIT_NOT_FOUND if missing else EXIT_NOT_EXECUTABLE
        return self.code

    @property
    def shell_code(self) -> int:
        """Status for a shell: as ``exit_code``, 128+n for signal n, 125 when unknown."""
        code = self.exit_code
        if code is None:
            return EXIT_NOT_PREPARED
        return 128 - code if code < 0 else code

    def to_json(self) -> dict[str, Any]:
        """The object stored as ``exit.json``."""
        fields: dict[str, Any] = {"schema": SCHEMA, "exit_code": self.exit_code}
        fields.update((name, getattr(self, name)) for name in sorted(self.__slots__))
        return fields

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> Ending:
        """The ending that :meth:`to_json` described; unknown fields are ignored."""
        ending = cls(fields.get("started_at") or 0.0)
        for name in cls.__slots__:
            if name in fields:
                setattr(ending, name, fields[name])
        if ending.start_error is not None:
            ending.start_error = (ending.start_error[0], ending.start_error[1])
        return ending
