"""Watch all processes of this machine that use a GPU."""

from __future__ import annotations

import argparse
import shlex
import time
from contextlib import suppress

from gpualert_common.cli import printing
from gpualert_common.cli.arguments import add_json, add_options
from gpualert_common.cli.quantity_arguments import parse_seconds
from gpualert_common.errors import UsageError
from gpualert_common.settings import given_options, load_settings
from gpualert_common.spec import SCHEMA

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gpualert_common.agent.agent_status import AgentStatus
    from gpualert_common.cli.arguments import CommandParser

_OPTIONS = (
    *("state_dir", "hang_timeout", "notify", "notify_on", "notify_deadline", "warn", "templates"),
    *("rules", "quiet"),
)
_MOST_COMMAND_CHARS = 200
_PIPED = 160
_LEAST_PERIOD_S, _MOST_PERIOD_S = 1.0, 20.0
"""Half as often as a run of our own costs less than 1 % of a core for ten groups.  Detectors accept
samples that are up to 30 s apart."""


def add_arguments(parser: CommandParser) -> None:
    """Add the options about alerts, and ``--status``."""
    parser.description = (
        "Watch every process that uses a GPU of this machine and was started without gpualert: one "
        "record for each Slurm job, container or tree of processes. Root watches the processes of "
        "all users, another user only their own. Runs until it is stopped; the processes go on."
    )
    add_options(parser, *_OPTIONS)
    parser.add_argument(
        "--every",
        type=parse_seconds,
        default="10s",
        metavar="DURATION",
        help="time between two samples, from 1s to 20s (default: 10s)",
    )
    parser.add_argument(
        "--status", action="store_true", help="print what the agent watches now, and exit"
    )
    add_json(parser)


def execute(options: argparse.Namespace) -> int:
    """Watch until SIGTERM or Ctrl-C; or print the status, with 1 where no agent runs."""
    settings = load_settings(given_options(vars(options)))
    if options.status:
        return _print_status(settings["state_dir"].value, as_json=options.json)
    if options.json:
        raise UsageError("--json is about --status")
    if not _LEAST_PERIOD_S <= options.every <= _MOST_PERIOD_S:
        raise UsageError(f"--every: {options.every:g}s is not between 1s and 20s")
    from gpualert_common.agent.gpu_agent import GpuAgent

    quiet = settings["quiet"].value
    log = printing.print_notes if not quiet else lambda *_lines: None
    agent = GpuAgent(settings, options.every, lambda line: log(f"gpualert: {line}"))
    log("gpualert: watching the processes that use the GPUs of this machine")
    agent.run()
    return 0


def _print_status(state_dir: str | None, *, as_json: bool) -> int:
    from gpualert_common.agent.agent_status import StatusFile
    from gpualert_common.codec import encode
    from gpualert_common.record_locations import choose_state_dir

    place = choose_state_dir(state_dir)
    status = None
    with suppress(FileNotFoundError):
        file = StatusFile.open_for_reading(place)
        status = file.read() if file.is_agent_alive else None
    if as_json:
        groups = [] if status is None else [encode(group) for group in status.groups]
        left_out = 0 if status is None else status.left_out
        found = {"is_running": status is not None, "groups": groups, "left_out": left_out}
        printing.print_json({"schema": SCHEMA, **found})
    elif status is None:
        printing.print_notes(f"gpualert: no agent runs with the state directory {place}")
    else:
        printing.print_lines(*_format_table(status))
    return 0 if status is not None else 1


def _format_table(status: AgentStatus) -> list[str]:
    from gpualert_common.cli.run_table import shorten_ids
    from gpualert_common.report.formatting import one_line, short_duration, size
    from gpualert_common.report.tables import Column, format_table

    groups, now = status.groups, time.time()
    idle = [
        "-" if one.idle_since is None else short_duration(max(0.0, now - one.idle_since))
        for one in groups
    ]
    ids = [one.run_id for one in groups]
    commands = [one_line(shlex.join(one.command), _MOST_COMMAND_CHARS) for one in groups]
    gpus = [",".join(gpu.removeprefix("gpu:") for gpu in one.gpus) or "-" for one in groups]
    columns = [
        Column("RUN", shorten_ids(ids, ids)),
        Column("USER", [one.user for one in groups]),
        Column("WHERE", [one.place for one in groups], rank=2),
        Column("GPUS", gpus),
        Column("MEMORY", [size(int(one.memory_bytes)) for one in groups], is_right=True),
        Column("IDLE", idle, is_right=True),
        Column("WARNINGS", [",".join(one.warnings) or "-" for one in groups], rank=3, least=8),
        Column("COMMAND", commands, rank=1, least=12),
    ]
    lines = format_table(columns, printing.terminal_columns(_PIPED))
    if status.left_out:
        lines.append(f"and {status.left_out} processes more, beyond the limit of the agent")
    return lines
