"""The Python face: ``run(command)``; and what it shares with the program.

The child runs before the classifier is imported: :func:`judge_for` does that when it is needed.
"""

from __future__ import annotations

import os

from gpualert_common import config
from gpualert_common.errors import UsageError
from gpualert_common.notify.channel_config import alerts_of, is_any_left
from gpualert_common.processes.marker import run_marker
from gpualert_common.processes.program import start_program
from gpualert_common.spec import EARLY, RunSpec
from gpualert_common.supervise import RecorderHooks, supervise

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from subprocess import Popen
    from typing import Any

    from gpualert_common.launch.preparation import PreparedRun
    from gpualert_common.model import Verdict
    from gpualert_common.record import Record
    from gpualert_common.spec import Ending
    from gpualert_common.supervise.live_classifier import LogClassifier


OWN, LEFT = "own", "left"
"""What a sender of alerts may be needed for."""


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
    done = supervise(spec, lambda prepared: _quiet_plan(spec, prepared), own_process=False)
    if done.sender:
        tell(spec, done.record.path, done.sender)
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


def sender_for(spec: RunSpec, record_path: str, verdict: Verdict | None) -> str:
    """What a sender is needed for at this end: OWN, LEFT (by other runs), or nothing."""
    if spec.alerts is not None:
        well = verdict is not None and verdict.cause == "none" and not _warned(spec, verdict)
        if not well or spec.alerts["on"] == "always":
            return OWN
    return LEFT if is_any_left(record_path) else ""


def _warned(spec: RunSpec, verdict: Verdict) -> bool:
    """True where people heard of trouble, and must hear what became of it."""
    warns = spec.alerts is not None and spec.alerts.get("warn")
    return bool(warns) and any(one.kind.startswith(EARLY) for one in verdict.warnings)


def tell_early(spec: RunSpec, record_path: str) -> None:
    """Have people told of what was seen of a run that goes on, if they want that; returns at once.

    Raises nothing.
    """
    if spec.alerts is None or not spec.alerts.get("warn"):
        return
    from gpualert_common.notify.sender_launch import send_warnings

    send_warnings(record_path, spec.secrets)


def tell(spec: RunSpec, record_path: str, sender: str) -> list[dict[str, Any]]:
    """Have people told of the end of a run, within its deadline; the fields of each alert.

    For what other runs left behind nobody waits.
    """
    from gpualert_common.notify.sender_launch import dispatch

    if sender != OWN or spec.alerts is None:
        return dispatch(record_path, own=False, deadline_s=0.0)
    return dispatch(record_path, secrets=spec.secrets, deadline_s=spec.alerts["deadline_s"])


def tell_late(spec: RunSpec, record_path: str) -> None:
    """The same by a scribe that was held up for so long that its supervisor has gone."""
    from gpualert_common.notify.sender_launch import dispatch

    if spec.alerts is not None:
        dispatch(record_path, secrets=spec.secrets, deadline_s=0.0)


def judge_for(prepared: PreparedRun) -> LogClassifier:
    """The classifier for a run, imported when it is first needed."""
    from gpualert_common.classifier import RunClassifier

    return RunClassifier(prepared.launch_record, prepared.record)


def beside(prepared: PreparedRun) -> dict[str, Callable[[], Popen[bytes]]]:
    """What starts each process beside a run, by what it does.

    One surveys the working directory where an alert could carry a file, one observes the machine.
    """
    record, launch_record = prepared.record, prepared.launch_record
    found: dict[str, Callable[[], Popen[bytes]]] = {}
    if launch_record["alerts"] is not None:
        found["survey"] = lambda: start_program(
            "gpualert_common.artifacts.snapshot_program", record.path, helper_of=record.run_id
        )
    if launch_record["observe"]:
        found["observer"] = lambda: start_program(
            "gpualert_common.telemetry.sampler",
            record.path,
            run_marker(record.run_id),
            helper_of=record.run_id,
        )
    return found


def _quiet_plan(spec: RunSpec, prepared: PreparedRun) -> RecorderHooks:
    path = prepared.record.path
    return RecorderHooks(
        lambda: judge_for(prepared),
        beside=beside(prepared),
        sender_for=lambda verdict: sender_for(spec, path, verdict),
        late=lambda: tell_late(spec, path),
        warn=lambda: tell_early(spec, path),
    )
