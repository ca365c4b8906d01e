"""Python API: run()."""

from __future__ import annotations

import os

from gpualert_common.errors import ConfigError, UsageError
from gpualert_common.notify.channel_config import resolve_alerts
from gpualert_common.notify.launch_checks import require_deliverable
from gpualert_common.run_hooks import RunHooks, send_alerts
from gpualert_common.settings import OPTIONS, given_options, load_settings, name_origin
from gpualert_common.spec import RunSpec
from gpualert_common.store_addresses import find_missing_package
from gpualert_common.supervise import supervise

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from gpualert_common.model import Verdict
    from gpualert_common.record import Record
    from gpualert_common.settings import Setting
    from gpualert_common.spec import Ending


class RunResult:
    """A run that has ended.

    ``exit_code`` is the child's status (-n: killed by signal n), 124 after the time limit, 126 or
    127 if it could not be executed, None if the status was lost.  ``verdict`` is None if it is late
    or the classifier failed; ``record.verdict`` has a late one as soon as it is made.
    ``log_paths`` has every log: one, or those of stdout and stderr if the streams are apart.
    ``log_path`` is the one that has the error, if the verdict cites one.  ``record`` stays
    readable.
    """

    __slots__ = ("exit_code", "record", "verdict")

    def __init__(self, record: Record, ending: Ending, verdict: Verdict | None) -> None:
        self.record = record
        self.exit_code = ending.exit_code
        self.verdict = verdict

    @property
    def log_path(self) -> str:
        """Path of the log that the verdict cites, else of the last that is not empty."""
        from gpualert_common.report.run_logs import find_main_log

        return self.record.log_path(find_main_log(self.record, self.verdict))

    @property
    def log_paths(self) -> tuple[str, ...]:
        """Paths of all logs in the record; stdout comes before stderr."""
        return self.record.log_paths


def run(
    command: Sequence[str],
    *,
    cwd: str | os.PathLike[str] | None = None,
    env: Mapping[str, str] | None = None,
    timeout: float | str | None = None,
    grace: float | str | None = None,
    hang_timeout: float | str | None = None,
    on_hang: str | None = None,
    on_slowdown: str | None = None,
    name: str | None = None,
    state_dir: str | os.PathLike[str] | None = None,
    streams: str | None = None,
    log_full: str | None = None,
    pty: bool | None = None,
    log_reserve: int | str | None = None,
    end_survivors: bool | None = None,
    sync: bool | None = None,
    observe: bool | None = None,
    tracing: bool | None = None,
    warn: bool | None = None,
    notify: str | Sequence[str | Mapping[str, Any]] | None = None,
    notify_on: str | None = None,
    notify_deadline: float | str | None = None,
    artifact: str | Sequence[str] | None = None,
    templates: str | os.PathLike[str] | None = None,
    rules: str | os.PathLike[str] | None = None,
    job: str | None = None,
    job_dir: str | os.PathLike[str] | None = None,
) -> RunResult:
    """Run ``command`` under supervision and return when it has ended.

    The options are those of docs/configuration.md; one that is None comes from the configuration.
    Durations are seconds, a timedelta, or text such as "10m".  ``notify`` lists channels: names, as
    for ``--notify``, or tables with settings.  stdin is /dev/null; stdout and stderr go to the log
    only.  The call returns when the alerts are sent, or
    ``notify_deadline`` after the end of the run; no error of an alert is raised.

    Raises UsageError, ConfigError, RuleError (from ``rules``) or NoDurableLogError before launch,
    and then nothing was started.  After launch it raises only exceptions of the caller
    (KeyboardInterrupt, a time-out of an engine), after the child has been stopped.
    """
    given = given_options(locals())
    if isinstance(command, str | bytes):
        raise UsageError(
            'command is a list, as in ["python", "train.py"]; for a shell ["sh", "-c", ...]'
        )
    settings = load_settings(given, given_as="argument")
    if settings["streams"].value == "auto":
        settings["streams"].value = "merged"
    spec = make_spec(
        command, settings, cwd=None if cwd is None else os.fspath(cwd), env=env, name=name
    )
    done = supervise(spec, lambda prepared: RunHooks(spec, prepared), own_process=False)
    send_alerts(spec, done)
    return RunResult(done.record, done.ending, done.verdict)


def make_spec(
    command: Sequence[str],
    settings: Mapping[str, Setting],
    *,
    cwd: str | None,
    name: str | None,
    env: Mapping[str, str] | None = None,
    inherit: bool = False,
) -> RunSpec:
    """Return the spec that the settings describe.

    Raises ConfigError for an unknown channel and for one that cannot send from here, RuleError for
    an invalid rule of the user.
    """
    alerts, secrets = resolve_alerts(settings)
    if alerts is not None:
        require_deliverable(settings, alerts)
    given = {
        option.spec_field: settings[option.name].value
        for option in OPTIONS.values()
        if option.spec_field
    }
    if given["rules"] is not None:
        from gpualert_common.classify.rule_checks import require_sound

        given["rules"] = os.path.abspath(given["rules"])
        if not os.path.exists(given["rules"]):
            where = name_origin("rules", settings["rules"].origin)
            raise ConfigError(f"{where}: {given['rules']}: No such file or directory")
        require_sound(given["rules"])
    _require_store(settings["job_dir"])
    if given["pty"] and given["streams"] == "apart":
        raise UsageError("pty: a terminal has one stream; streams cannot be apart")
    return RunSpec(
        [os.fspath(part) if isinstance(part, os.PathLike) else part for part in command],
        cwd=cwd,
        env=env,
        name=name,
        inherit=inherit,
        only_state_dir=settings["state_dir"].origin == "flag",
        alerts=alerts,
        secrets=secrets,
        **given,
    )


def _require_store(setting: Setting) -> None:
    """Raise ConfigError for a job directory whose package is not installed; no request is made."""
    missing = None if setting.value is None else find_missing_package(setting.value)
    if missing is not None:
        where = name_origin("job_dir", setting.origin)
        raise ConfigError(f"{where}: {setting.value} needs {missing}: pip install {missing}")
