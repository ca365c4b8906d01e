"""Every setting of a run, declared once.

From this table come the flags of ``gpualert run``, the environment variables, the keys of the
configuration files, the arguments of ``run()`` and of both engines' tasks, the fields of
:class:`~gpualert_common.spec.RunSpec` and docs/configuration.md.  Signatures that are written out
for users are checked against it by tests/settings/test_option_declarations.py.
"""

from __future__ import annotations

from gpualert_common.settings import values
from gpualert_common.settings.option import Interface, Option
from gpualert_common.spec import (
    DEFAULT_GRACE_S,
    DEFAULT_LOG_RESERVE_BYTES,
    DEFAULT_NOTIFY_DEADLINE_S,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any


_PYTHON = (Interface.CLI, Interface.API)
_ENGINES = (Interface.AIRFLOW, Interface.PREFECT)

OPTIONS: dict[str, Option] = {
    option.name: option
    for option in (
        Option(
            "state_dir",
            values.parse_path,
            None,
            "directory that holds the run records",
            details="Default: see [where records are](record.md#where-it-is).",
            metavar="DIR",
            interfaces=(*_PYTHON, Interface.PREFECT),
            spec_field="state_dir",
        ),
        Option(
            "timeout",
            values.parse_duration,
            None,
            "wall-clock limit of the run, such as 90m or 12h",
            metavar="DURATION",
            unit="s",
            interfaces=(*_PYTHON, Interface.PREFECT),
            spec_field="timeout_s",
        ),
        Option(
            "grace",
            values.parse_grace,
            DEFAULT_GRACE_S,
            "time between the first signal of a stop and SIGKILL",
            metavar="DURATION",
            unit="s",
            spec_field="grace_s",
        ),
        Option(
            "hang_timeout",
            values.parse_hang_timeout,
            None,
            "time without output after which the run may hang, such as 20m",
            details="Its stacks are taken then, and again 30 s later. It hangs if its processes "
            "stand at the same places in both; one that computes or moves on does not. See "
            "[hangs](hangs.md).",
            metavar="DURATION",
            unit="s",
            spec_field="hang_timeout_s",
        ),
        Option(
            "on_hang",
            ("warn", "stop"),
            "warn",
            "when the run hangs: a warning, or its end",
            details="`warn`: one warning, which is also sent if `warn` is set, with the stacks. "
            "`stop`: the run is stopped gracefully, and its disposition is `timeout`, so that the "
            "retries of an engine follow.",
            spec_field="on_hang",
        ),
        Option(
            "on_slowdown",
            ("off", "profile", "trace"),
            "off",
            "when steps become much slower: take a profile or a trace",
            details="Slower than at the beginning of the run, or than in earlier runs; see "
            "[slow](warnings.md#slow). At most twice in a run; the finding is evidence in the "
            "verdict. `trace` implies `tracing`; a profile is taken where no process can be "
            "traced.",
            spec_field="on_slowdown",
        ),
        Option(
            "streams",
            ("auto", "merged", "apart"),
            "auto",
            "one log for stdout and stderr (merged) or one for each (apart)",
            details="`auto`: merged where both go to one place (a terminal, a file), so that "
            "their order is kept; else apart, so that pipes work.",
            interfaces=(*_PYTHON, Interface.PREFECT),
            spec_field="streams",
        ),
        Option(
            "log_full",
            ("fail", "drop"),
            "fail",
            "when the disk of the log is full: the command gets the error (fail), or the log is "
            "cut (drop)",
            interfaces=_PYTHON,
            spec_field="log_full",
        ),
        Option(
            "pty",
            values.parse_switch,
            False,
            "give the command a terminal to write to, for programs that draw bars only there",
            details="stdout and stderr are one stream then, and a full disk cuts the log, as with "
            '`log_full = "drop"`; see [terminals](supervision.md#terminals).',
            interfaces=_PYTHON,
            spec_field="pty",
        ),
        Option(
            "log_reserve",
            values.parse_size,
            DEFAULT_LOG_RESERVE_BYTES,
            "disk space reserved for the log before the launch",
            metavar="SIZE",
            unit="bytes",
            interfaces=_PYTHON,
            spec_field="log_reserve_bytes",
        ),
        Option(
            "end_survivors",
            values.parse_switch,
            False,
            "stop processes that outlive a command which ended by itself",
            interfaces=_PYTHON,
            spec_field="end_survivors",
        ),
        Option(
            "notify",
            values.parse_texts,
            ["mailbox"],
            "where to send alerts: the name of a channel, mailbox, smtp://..., command:..., "
            "otlp+http://..., an apprise URL, env:NAME, file:PATH, or none",
            details="See [alerts](alerts.md) and [channels](channels.md).",
            metavar="CHANNEL",
        ),
        Option(
            "notify_on",
            ("failure", "failure_or_stop", "always", "never"),
            "failure",
            "when to send alerts",
            details="Without an engine, `failure` leaves out the runs that you stop by hand, with "
            "Ctrl-C or `gpualert stop`; `failure_or_stop` includes them.",
        ),
        Option(
            "notify_deadline",
            values.parse_deadline,
            DEFAULT_NOTIFY_DEADLINE_S,
            "how long the end of the run waits for its alerts",
            details="Alerts that are not delivered by then are still sent.",
            metavar="DURATION",
            unit="s",
        ),
        Option(
            "warn",
            values.parse_switch,
            False,
            "also alert while the run is in progress: NaN, silence, a GPU that fails or idles",
            details="See [warnings](warnings.md).",
        ),
        Option(
            "artifact",
            values.parse_globs,
            [],
            "files that alerts carry, as a glob pattern",
            details="They are carried in addition to the [usual results](artifacts.md).",
            metavar="GLOB",
        ),
        Option(
            "templates",
            values.parse_path,
            None,
            "directory of your own templates for alerts",
            details="See [templates](templates.md).",
            metavar="DIR",
            interfaces=_PYTHON,
        ),
        Option(
            "rules",
            values.parse_home_path,
            None,
            "directory of your own rules for causes, used in addition to the shipped ones",
            details="`~` is your home directory.",
            metavar="DIR",
            spec_field="rules",
        ),
        Option(
            "channels",
            values.parse_channels,
            {},
            "settings of channels, by name",
            details="Tables `[channels.NAME]`, in files only; see [channels](channels.md).",
            interfaces=(),
        ),
        Option(
            "job",
            values.parse_job,
            None,
            "name of the job that this run is a part of, equal on all nodes; none: of no job",
            details="Default: the engine's task, or the job of Slurm, torchrun, Kubernetes or Ray.",
            metavar="NAME",
            spec_field="job",
        ),
        Option(
            "job_dir",
            values.parse_job_dir,
            None,
            "directory or URL (s3://...) in which the nodes of a job share what they observe",
            details="See [job directory](job-directory.md).",
            metavar="URL",
            spec_field="job_dir",
        ),
        Option(
            "scheduler",
            ("local", "slurm"),
            "local",
            "run the command on this machine (local), or submit it as a batch job (slurm)",
            details="See [tasks of an engine](slurm-submission.md#tasks-of-an-engine).",
            interfaces=_ENGINES,
        ),
        Option(
            "sbatch_args",
            values.parse_arguments,
            [],
            "options of sbatch for a batch job, such as --gres=gpu:8",
            metavar="ARG",
            interfaces=_ENGINES,
        ),
        Option(
            "observe",
            values.parse_switch,
            True,
            "sample GPUs, kernel log, memory and disks during the run",
            details="A run that lasts for less than a second is not sampled.",
            spec_field="observe",
        ),
        Option(
            "tracing",
            values.parse_switch,
            False,
            "have PyTorch ready for `gpualert trace`",
            details="Costs one process for each run; see [traces](traces.md).",
            spec_field="tracing",
        ),
        Option(
            "quiet",
            values.parse_switch,
            False,
            "suppress gpualert's own messages",
            short_flag="-q",
            interfaces=(Interface.CLI,),
        ),
        Option(
            "sync",
            values.parse_switch,
            True,
            "sync the log, its directory and the exit record to disk",
            details="Without it a power cut may lose the record of a run.",
            interfaces=(Interface.API,),
            spec_field="sync",
        ),
    )
}


def option_names(interface: str) -> list[str]:
    """Return the names of the options that may be given by *interface*."""
    return [option.name for option in OPTIONS.values() if interface in option.interfaces]


def given_options(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options among the arguments of a function, as ``locals()`` has them."""
    return {name: value for name, value in arguments.items() if name in OPTIONS}
