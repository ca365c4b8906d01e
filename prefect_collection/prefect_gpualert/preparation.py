"""A training that can be launched, made from the arguments of a task or the fields of a block."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from gpualert_common.api import make_spec
from gpualert_common.guardian.engine_jobs import is_engine_job, list_identity, make_engine_job
from gpualert_common.settings import Setting, load_settings
from gpualert_common.suspicion import OnSuspect
from prefect_gpualert import alerts
from prefect_gpualert.attempts import current_attempt
from prefect_gpualert.contexts import current
from prefect_gpualert.run_log import Logger
from prefect_gpualert.training import ShowLine, Training


def load_settings_and_blocks(given: dict[str, Any]) -> dict[str, Setting]:
    """Return gpualert's settings, with channels in the place of Prefect's blocks.

    Raises ConfigError.
    """
    given["notify"] = alerts.replace_blocks_by_tables(given.get("notify"))
    settings = load_settings(given, given_as="argument")
    if settings["streams"].value == "auto":
        settings["streams"].value = "apart"  # the result is stdout alone, as upstream's
    alerts.resolve_settings(settings)
    return settings


def make_training(
    command: list[str],
    settings: dict[str, Setting],
    *,
    env: Mapping[str, str] | None,
    cwd: str | None,
    adopt_within_s: float | None,
    logger: Logger,
    show: ShowLine,
    publish: bool = True,
    on_suspect: OnSuspect = OnSuspect.WARN,
    end_survivors: bool = False,
) -> Training:
    """Return the training of the current task or flow.  ``env`` is added to the environment.

    A job of Slurm starts in the current directory, as sbatch does.
    """
    spec = make_spec(
        command,
        settings,
        cwd=os.getcwd() if cwd is None and is_engine_job(settings) else cwd,
        name=_name(),
        env=None if env is None else {**os.environ, **env},
    )
    spec.end_survivors |= end_survivors
    attempt = current_attempt(list_identity(command, settings), env, cwd, adopt_within_s)
    return Training(
        spec,
        attempt,
        logger,
        show,
        publish=publish,
        on_suspect=on_suspect,
        engine_job=make_engine_job(spec, settings, attempt.fingerprint),
    )


def _name() -> str | None:
    task, flow = current()
    if task is not None:
        return task.task_run.name
    return None if flow is None or flow.flow_run is None else flow.flow_run.name
