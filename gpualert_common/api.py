"""The Python interface: ``run(command)``, and the spec that it shares with the program."""

from __future__ import annotations

import os

from gpualert_common import config
from gpualert_common.errors import UsageError
from gpualert_common.notify.channel_config import alerts_of
from gpualert_common.run_hooks import RunHooks, send_alerts
from gpualert_common.spec import RunSpec
from gpualert_common.supervise import supervise

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from gpualert_common.model import Verdict
    from gpualert_common.record import Record
    from gpualert_common.spec import Ending


class RunResult:
    """A run that has ended.

    ``exit_code`` is the child's status (-n: killed by signal n), 124 after our time limit, 126 or
    127 when it could not be executed, None when the status was lost.  ``verdict`` is the cause of
    that end, None when the classifier failed or the disk was too slow for it.  ``log_path`` is the
    log, or stderr's where the streams are apart.  ``record`` stays readable.
    """

    __slots__ = ("exit_code", "record", "verdict")

    def __init__(self, record: Record, ending: Ending, verdict: Verdict | None) -> None:
        self.record = record
        self.exit_code = ending.exit_code
        self.verdict = verdict

    @property
    def log_path(self) -> str:
        """Path of the log in the record."""
        return self.record.log_path(self.record.logs[-1])


def run(
    command: Sequence[str],
    *,
    cwd: str | os.PathLike[str] | None = None,
    env: Mapping[str, str] | None = None,
    timeout: float | str | None = None,
    grace: float | str | None = None,
    name: str | None = None,
    state_dir: str | os.PathLike[str] | None = None,
    streams: str | None = None,
    log_full: str | None = None,
    log_reserve: int | str | None = None,
    end_survivors: bool | None = None,
    sync: bool | None = None,
    observe: bool | None = None,
    warn: bool | None = None,
    notify: str | Sequence[str | Mapping[str, Any]] | None = None,
    notify_on: str | None = None,
    notify_deadline: float | str | None = None,
    artifact: str | Sequence[str] | None = None,
    templates: str | os.PathLike[str] | None = None,
    rules: str | os.PathLike[str] | None = None,
) -> RunResult:
    """Run ``command`` under supervision and return when it has ended.

    What is None comes from the configuration.  stdin is /dev/null; stdout and stderr go to the log
    and nowhere else.  Durations are seconds or text such as "10m".  ``notify`` names channels, as
    ``--notify`` does, or holds tables with their settings (``warn``: they hear of trouble while the
    run goes on, too); it returns once the alerts are sent, or
    ``notify_deadline`` after the end of the run, and no fault of theirs reaches the caller.

    Raises UsageError, ConfigError, RuleError (of ``rules``, the user's own) or NoDurableLogError
    before launch, when nothing was started.
    After launch only an exception of the caller's own (KeyboardInterrupt, a time-out that an engine
    throws) gets out, once the child has been stopped.
    """
    if isinstance(command, str | bytes):
        raise UsageError(
            'command is a list, as in ["python", "train.py"]; for a shell ["sh", "-c", ...]'
        )
    settings = config.load(
        {
            "timeout": timeout,
            "grace": grace,
            "state_dir": None if state_dir is None else os.fspath(state_dir),
            "streams": streams,
            "log_full": log_full,
            "log_reserve": log_reserve,
            "end_survivors": end_survivors,
            "sync": sync,
            "observe": observe,
            "warn": warn,
            "notify": notify,
            "notify_on": notify_on,
            "notify_deadline": notify_deadline,
            "artifact": artifact,
            "templates": None if templates is None else os.fspath(templates),
            "rules": None if rules is None else os.fspath(rules),
        },
        given_as="argument",
    )
    if settings["streams"].value == "auto":
        settings["streams"].value = "merged"
    spec = make_spec(
        command, settings, cwd=None if cwd is None else os.fspath(cwd), env=env, name=name
    )
    done = supervise(spec, lambda prepared: RunHooks(spec, prepared), own_process=False)
    if done.sender:
        send_alerts(spec, done.record.path, done.sender)
    return RunResult(done.record, done.ending, done.verdict)


def make_spec(
    command: Sequence[str],
    settings: Mapping[str, config.Setting],
    *,
    cwd: str | None,
    name: str | None,
    env: Mapping[str, str] | None = None,
    inherit: bool = False,
) -> RunSpec:
    """The spec that the settings describe.

    Raises ConfigError for a channel that is none, RuleError for a rule of the user's own that is
    wrong.
    """
    alerts, secrets = alerts_of(settings)
    rules = settings["rules"].value
    if rules is not None:
        from gpualert_common.classify import require_sound

        rules = os.path.abspath(rules)
        require_sound(rules)
    return RunSpec(
        [os.fspath(part) if isinstance(part, os.PathLike) else part for part in command],
        cwd=cwd,
        env=env,
        timeout_s=settings["timeout"].value,
        grace_s=settings["grace"].value,
        streams=settings["streams"].value,
        log_full=settings["log_full"].value,
        log_reserve_bytes=settings["log_reserve"].value,
        end_survivors=settings["end_survivors"].value,
        state_dir=settings["state_dir"].value,
        sync=settings["sync"].value,
        observe=settings["observe"].value,
        name=name,
        inherit=inherit,
        alerts=alerts,
        secrets=secrets,
        rules=rules,
    )
