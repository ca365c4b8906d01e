"""The arguments of every command, and which function serves it."""

from __future__ import annotations

import argparse
import importlib
import sys

from gpualert_common._version import __version__
from gpualert_common.spec import EXIT_NOT_PREPARED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, NoReturn

EXIT_USAGE = 2

_RUN_HELP = "a run id, the start of one, the path of a record, or: last"


class _Parser(argparse.ArgumentParser):
    """No guessing of abbreviated options, and ``run`` says with 125 that nothing was launched."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(allow_abbrev=False, **kwargs)
        self.usage_status = EXIT_USAGE

    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        self.exit(self.usage_status, f"{self.prog}: error: {message}\n")


def build_parser() -> _Parser:
    """The parser of the whole program."""
    parser = _Parser(
        prog="gpualert",
        description="Supervise a training command, keep its log, say why it ended.",
    )
    parser.add_argument("--version", action="version", version=f"gpualert {__version__}")
    commands = parser.add_subparsers(dest="command_name", metavar="COMMAND", required=True)
    _add_run(commands)
    _add_classify(commands)
    _add_progress(commands)
    _add_records(commands)
    _add_alerts(commands)
    _add_rules(commands)
    _add_config(commands)
    _add_doctor(commands)
    for command in commands.choices.values():
        command.set_defaults(parser=command)
    return parser


_Commands = argparse._SubParsersAction  # noqa: SLF001 - argparse names it nowhere else


def _add_run(commands: _Commands[_Parser]) -> None:
    parser = commands.add_parser(
        "run",
        help="run a command under supervision",
        usage="gpualert run [options] -- CMD...",
        description="Run CMD with its log on the disk before it starts, end with its status, and "
        "say why it failed. stdout and stderr are the command's; our own words go to stderr.",
    )
    parser.usage_status = EXIT_NOT_PREPARED
    parser.add_argument("--state-dir", metavar="DIR", help="keep the record here")
    parser.add_argument("--timeout", metavar="DURATION", help="end the run after this (30s, 10m)")
    parser.add_argument(
        "--grace", metavar="DURATION", help="from the first signal to the end by force (30s)"
    )
    parser.add_argument("--cwd", metavar="DIR", help="working directory of the command")
    parser.add_argument(
        "--streams",
        choices=("auto", "merged", "apart"),
        help="one log, or stdout and stderr apart (auto: apart unless both go to one place)",
    )
    parser.add_argument(
        "--log-full",
        choices=("fail", "drop"),
        help="on a full disk: the command sees the error (fail), or the log is cut (drop)",
    )
    parser.add_argument("--log-reserve", metavar="SIZE", help="disk space kept for the log (1MiB)")
    parser.add_argument(
        "--end-survivors",
        action="store_const",
        const=True,
        help="end processes that outlive a command which ended by itself",
    )
    parser.add_argument(
        "--no-observe",
        dest="observe",
        action="store_const",
        const=False,
        help="do not look at GPUs, kernel, memory and disks meanwhile",
    )
    parser.add_argument("--name", metavar="NAME", help="a name for people")
    _add_notify(parser)
    parser.add_argument(
        "--notify-on",
        choices=("failure", "always", "never"),
        help="which ends are told (failure)",
    )
    parser.add_argument(
        "--warn",
        action="store_const",
        const=True,
        help="tell of trouble while it goes on, too: NaN, silence, a GPU that fails or idles",
    )
    parser.add_argument(
        "--notify-deadline",
        metavar="DURATION",
        help="how long the end of the run waits for its alerts (15s)",
    )
    parser.add_argument(
        "--artifact",
        action="append",
        metavar="GLOB",
        help="have alerts carry these files; may be given again",
    )
    parser.add_argument(
        "--templates", metavar="DIR", help="templates of your own for the alerts, in this directory"
    )
    _add_own_rules(parser)
    parser.add_argument(
        "--detach",
        action="store_true",
        help="leave the run to a guardian that survives this shell, and print the run's id",
    )
    parser.add_argument(
        "-q", "--quiet", action="store_const", const=True, help="say nothing of our own"
    )
    parser.add_argument("command", nargs=argparse.REMAINDER, metavar="CMD", help=argparse.SUPPRESS)
    parser.set_defaults(action=_lazily("run", "run"))


def _add_progress(commands: _Commands[_Parser]) -> None:
    parser = commands.add_parser(
        "progress",
        help="show how far a training came, and how its loss went",
        description="Show how far a training came by its log: steps, losses, checkpoints, and "
        "whether it began anew.",
    )
    parser.add_argument("--state-dir", metavar="DIR", help="look for records here first")
    parser.add_argument("log", metavar="LOG", help="a log file, - for stdin, or a run")
    _add_json(parser)
    parser.set_defaults(action=_lazily("progress", "progress"))


def _add_doctor(commands: _Commands[_Parser]) -> None:
    parser = commands.add_parser(
        "doctor", help="show which evidence sources work here, and what the others lack"
    )
    _add_json(parser)
    parser.set_defaults(action=_lazily("doctor", "doctor"))


def _add_own_rules(parser: _Parser) -> None:
    parser.add_argument("--rules", metavar="DIR", help="your own rules for causes, beside ours")


def _add_classify(commands: _Commands[_Parser]) -> None:
    parser = commands.add_parser(
        "classify",
        help="say why a run failed, from an old log",
        description="Say why a run failed, from its log or logs (one run: all its files).",
    )
    parser.add_argument("logs", nargs="+", metavar="LOG", help="a log file, or - for stdin")
    parser.add_argument(
        "--exit-code",
        type=int,
        metavar="N",
        help="status of the run: 0 to 255, or -n when signal n ended it",
    )
    _add_own_rules(parser)
    _add_forms(parser)
    parser.set_defaults(action=_lazily("classify", "classify"))


def _add_records(commands: _Commands[_Parser]) -> None:
    runs = commands.add_parser("runs", help="list the runs on this machine")
    runs.set_defaults(action=_lazily("runs", "runs"))
    show = commands.add_parser("show", help="show a run and its verdict")
    follow = commands.add_parser("follow", help="print the log of a run as it grows")
    stop = commands.add_parser("stop", help="end a run gracefully")
    stop.add_argument(
        "--grace", metavar="DURATION", help="from the first signal to the end by force"
    )
    recover = commands.add_parser(
        "recover", help="finish the records of runs whose supervisor died (all, or one)"
    )
    recover.add_argument(
        "--force", action="store_true", help="its host or container is gone: finish it from here"
    )
    for parser, default, otherwise in (
        (show, "last", "last"),
        (follow, "last", "last"),
        (stop, None, "the one that lives"),
        (recover, None, "all"),
    ):
        text = f"{_RUN_HELP}; default: {otherwise}"
        parser.add_argument("run", nargs="?", default=default, metavar="RUN", help=text)
    show.set_defaults(action=_lazily("show", "show"))
    follow.set_defaults(action=_lazily("records", "follow"))
    stop.set_defaults(action=_lazily("control", "stop"))
    recover.set_defaults(action=_lazily("control", "recover"))
    _add_forms(show)
    for parser in (runs, stop, recover):
        _add_json(parser)
    for parser in (runs, show, follow, stop, recover):
        parser.add_argument("--state-dir", metavar="DIR", help="look for records here first")


def _add_alerts(commands: _Commands[_Parser]) -> None:
    notify = commands.add_parser("notify", help="try the channels of alerts, or see a message")
    actions = notify.add_subparsers(dest="notify_action", metavar="ACTION", required=True)
    test = actions.add_parser(
        "test",
        help="send a test message for real",
        description="Send a test message by every channel that is configured or named, once and "
        "for real. Status 0 when all of them accepted it, else 1.",
    )
    preview = actions.add_parser(
        "preview",
        help="print the message about a run",
        description="Print the message about a run as a channel would get it; nothing is sent.",
    )
    preview.add_argument("run", nargs="?", default="last", metavar="RUN", help=_RUN_HELP)
    preview.add_argument("--html", action="store_true", help="the HTML of it")
    preview.add_argument(
        "--channel",
        dest="notify",
        type=lambda channel: [channel],
        metavar="CHANNEL",
        help="as for run --notify; default: the first one configured",
    )
    _add_notify(test)
    _add_json(test)
    notify.set_defaults(action=_lazily("notify", "notify"))
    outbox = commands.add_parser("outbox", help="alerts: what became of them, and sending again")
    actions = outbox.add_subparsers(dest="outbox_action", metavar="ACTION", required=True)
    listing = actions.add_parser("list", help="alerts that are not delivered")
    listing.add_argument("--all", action="store_true", help="those that are settled, too")
    retry = actions.add_parser(
        "retry",
        help="send what is not delivered",
        description="Send what is not delivered: of one run, also what waits for another attempt "
        "at its task; of all runs otherwise. Status 1 when something is still not delivered.",
    )
    drop = actions.add_parser("drop", help="never send the alerts of a run")
    retry.add_argument(
        "run", nargs="?", default=None, metavar="RUN", help=f"{_RUN_HELP}; default: all"
    )
    drop.add_argument("run", metavar="RUN", help=_RUN_HELP)
    _add_notify(retry)
    outbox.set_defaults(action=_lazily("outbox", "outbox"))
    for parser in (listing, retry, drop):
        _add_json(parser)
    for parser in (test, preview, listing, retry, drop):
        parser.add_argument("--state-dir", metavar="DIR", help="look for records here first")


def _add_rules(commands: _Commands[_Parser]) -> None:
    parser = commands.add_parser("rules", help="list, show or check the rules for causes")
    actions = parser.add_subparsers(dest="rules_action", metavar="ACTION", required=True)
    listing = actions.add_parser("list", help="list the rules in their order")
    show = actions.add_parser("show", help="show one rule")
    show.add_argument("rule", metavar="ID", help="the cause it names")
    check = actions.add_parser(
        "check",
        help="check rule files and their samples",
        description="Check rule files of your own (or, without any, those that are shipped): what "
        "is wrong, in which file and key; whether every pattern sees its samples, alone and "
        "behind the prefixes of launchers, and no near miss.",
    )
    check.add_argument("files", nargs="*", metavar="FILE", help="a rule file, or a directory")
    for action in (listing, show):
        _add_own_rules(action)
    for action in (listing, show, check):
        _add_json(action)
    parser.set_defaults(action=_lazily("rules", "rules"))


def _add_config(commands: _Commands[_Parser]) -> None:
    parser = commands.add_parser("config", help="show the settings")
    actions = parser.add_subparsers(dest="config_action", metavar="ACTION", required=True)
    show = actions.add_parser("show", help="each setting and where it came from")
    _add_json(show)
    parser.set_defaults(action=_lazily("settings", "show"))


def _add_notify(parser: _Parser) -> None:
    parser.add_argument(
        "--notify",
        action="append",
        metavar="CHANNEL",
        help="tell this channel: a name from the configuration, mailbox, smtp://..., "
        "command:..., a URL of apprise, env:NAME, file:PATH, or none; may be given again",
    )


def _add_json(parser: argparse._ActionsContainer) -> None:
    parser.add_argument("--json", action="store_true", help="JSON on stdout and nothing else")


def _add_forms(parser: argparse.ArgumentParser) -> None:
    """In which form a verdict is printed."""
    forms = parser.add_mutually_exclusive_group()
    forms.add_argument("--full", action="store_true", help="all that the verdict says, uncut")
    forms.add_argument(
        "--markdown", action="store_true", help="as Markdown, with secrets masked, to pass it on"
    )
    _add_json(forms)


def _lazily(module: str, function: str) -> Callable[[argparse.Namespace], int]:
    """A command whose module is imported when it is called for, and no other one."""

    def action(options: argparse.Namespace) -> int:
        found = importlib.import_module(f"gpualert_common.cli.{module}")
        return int(getattr(found, function)(options))

    return action
