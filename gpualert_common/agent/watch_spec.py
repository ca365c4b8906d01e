"""The request for a run that stands for a watched process."""

from __future__ import annotations

from collections.abc import Mapping

from gpualert_common.agent.foreign_process import ForeignProcess
from gpualert_common.agent.output_files import Outputs
from gpualert_common.api import make_spec
from gpualert_common.settings import Setting
from gpualert_common.spec import RunSpec


def make_watch_spec(
    process: ForeignProcess, outputs: Outputs, settings: Mapping[str, Setting], *, name: str | None
) -> RunSpec:
    """Return the spec of a watch by these settings; those about a launch do not count.

    Alerts carry no files: the process chooses the folder in which they would be searched.
    Raises as :func:`gpualert_common.api.make_spec` does.
    """
    spec = make_spec(
        process.command, settings, cwd=process.cwd, name=name, env=dict(process.variables)
    )
    spec.streams = outputs.streams
    spec.timeout_s, spec.on_hang, spec.end_survivors = None, "warn", False
    spec.tracing, spec.on_slowdown, spec.job_dir = False, "off", None
    spec.log_full, spec.pty = "fail", False
    if spec.alerts is not None:
        spec.alerts["artifacts"] = []
    return spec
