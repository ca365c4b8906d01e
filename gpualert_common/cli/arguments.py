"""The program's parser, and the arguments that several commands have."""

from __future__ import annotations

import argparse
import os
import sys

from gpualert_common._version import __version__
from gpualert_common.cli import printing
from gpualert_common.plugins import load_plugin, plugin_names
from gpualert_common.printable_text import make_printable
from gpualert_common.settings import OPTIONS
from gpualert_common.suggestions import suggest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

    from _typeshed import SupportsWrite

EXIT_USAGE = 2
RUN_HELP = "a run id, the start of one, a name (its newest run), the path of a record, or: last"

_COMMANDS = "gpualert_common.cli.commands"


class CommandParser(argparse.ArgumentParser):
    """Parser without abbreviated options; ``usage_status`` is the exit status of a usage error.

    With ``passes_options_on`` the first unknown option begins the arguments of another program.
    """

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(allow_abbrev=False, **kwargs)
        self.usage_status = EXIT_USAGE
        self.passes_options_on = False

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Return the options; an unknown argument is an error of the command that got it."""
        if self.passes_options_on and args is not None:
            args = self._separate(list(args))
        options, unknown = super().parse_known_args(args, namespace)
        if unknown:
            hint = suggest(unknown[0].partition("=")[0], self._option_string_actions)
            self.error(f"unknown arguments: {' '.join(unknown)}{hint}")
        return options, unknown

    def _separate(self, args: list[str]) -> list[str]:
        """Return the arguments with "--" in front of the first one that is no option of ours."""
        index = 0
        while index < len(args) and args[index] != "--":
            name, equals, _ = args[index].partition("=")
            action = self._option_string_actions.get(name)
            if action is None:
                return [*args[:index], "--", *args[index:]]
            index += 1 if equals or action.nargs == 0 else 2
        return args

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """Raise ArgumentError for a value that is not a choice, with a suggestion."""
        try:
            super()._check_value(action, value)
        except argparse.ArgumentError as error:
            error.message += suggest(str(value), [str(one) for one in action.choices or ()])
            raise

    def error(self, message: str) -> NoReturn:
        """Exit with the usage and *message* on stderr."""
        self.print_usage(sys.stderr)
        self.exit(self.usage_status, f"{self.prog}: error: {make_printable(message)}\n")

    def _print_message(self, message: str, file: SupportsWrite[str] | None = None) -> None:
        """Print as the commands do; argparse prints everything by this method."""
        is_note = file is sys.stderr and file is not sys.stdout
        (printing.print_notes if is_note else printing.print_lines)(
            *message.rstrip("\n").split("\n")
        )


def build_parser(called: str) -> CommandParser:
    """Return the parser of the program when *called* is its first argument.

    It has the arguments of that command, and only the names of the others (for --help).
    """
    parser = CommandParser(
        prog="gpualert",
        description="Supervise a training command, keep its log, and explain why it failed.",
    )
    parser.add_argument("--version", action="version", version=f"gpualert {__version__}")
    commands = parser.add_subparsers(dest="command_name", metavar="COMMAND", required=True)
    names = plugin_names(_COMMANDS)
    if called in names:
        module = load_plugin(_COMMANDS, called)
        command = commands.add_parser(called, description=f"{_summary(called)}.")
        module.add_arguments(command)
        command.set_defaults(execute=module.execute)
        parser.usage_status = command.usage_status
    else:
        for name in names:
            summary = _summary(name)
            commands.add_parser(name, help=summary[:1].lower() + summary[1:])
    return parser


def add_options(parser: argparse.ArgumentParser, *names: str) -> None:
    """Add a flag for each of the named options, from its declaration."""
    for name in names:
        option = OPTIONS[name]
        flags = [option.short_flag, option.flag] if option.short_flag else [option.flag]
        text = option.help
        if isinstance(option.default, bool):
            text = f"do not {text}" if option.default else text
            parser.add_argument(
                *flags, dest=name, action="store_const", const=not option.default, help=text
            )
        elif isinstance(option.default, list):
            text += "; can be repeated"
            parser.add_argument(*flags, action="append", metavar=option.metavar, help=text)
        else:
            text += f" (default: {option.default_text})" if option.default else ""
            parser.add_argument(
                *flags, choices=option.choices or None, metavar=option.metavar, help=text
            )


def add_state_dir(parser: argparse.ArgumentParser) -> None:
    """Add ``--state-dir`` of a command that reads records."""
    parser.add_argument(
        "--state-dir", metavar="DIR", help="directory of the records; default: the configured one"
    )


def add_run(parser: argparse.ArgumentParser, default: str | None, default_text: str) -> None:
    """Add the argument RUN, which may be left out, and ``--state-dir``."""
    text = f"{RUN_HELP}; default: {default_text}"
    parser.add_argument("run", nargs="?", default=default, metavar="RUN", help=text)
    add_state_dir(parser)


def add_json(parser: argparse._ActionsContainer) -> None:
    """Add ``--json``."""
    parser.add_argument("--json", action="store_true", help="print JSON and nothing else")


def add_output_forms(parser: argparse.ArgumentParser) -> None:
    """Add the forms in which a verdict can be printed."""
    forms = parser.add_mutually_exclusive_group()
    forms.add_argument("--full", action="store_true", help="print the whole verdict, uncut")
    forms.add_argument(
        "--markdown", action="store_true", help="print Markdown with secrets masked, for sharing"
    )
    add_json(forms)


def _summary(name: str) -> str:
    """Return the first sentence of a command's docstring, without importing the module."""
    folder = load_plugin(_COMMANDS.rpartition(".")[0], "commands").__path__[0]
    with open(os.path.join(folder, f"{name}.py"), encoding="utf-8") as file:
        return file.readline().strip().strip('"').removesuffix(".")
