"""Completion at a shell: the words that can follow on a command line.

The shell calls the program again with the line in variables, as the script of ``gpualert
completion`` has it do.  Nothing here is imported in any other call.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterable, Iterator

import argcomplete
from argcomplete.completers import BaseCompleter, DirectoriesCompleter, FilesCompleter

from gpualert_common.causes import CAUSES
from gpualert_common.cli.arguments import build_parser
from gpualert_common.cli.commands.runs import STATES
from gpualert_common.cli.jobs import list_job_names
from gpualert_common.cli.records import list_places
from gpualert_common.listing.lookup import list_run_names
from gpualert_common.listing.run_list import list_runs
from gpualert_common.notify.channel_config import NONE
from gpualert_common.notify.targets import MAILBOX
from gpualert_common.record_locations import list_record_paths
from gpualert_common.settings import load_settings

_MOST_RUNS = 50
"""Newest runs that are offered: more do not fit on a screen."""


def complete() -> None:
    """Print the words that complete the line of the shell, and exit."""
    line, cursor = os.environ["COMP_LINE"], int(os.environ["COMP_POINT"])
    words = line[:cursor].split()
    argcomplete.autocomplete(
        build_parser(words[1] if len(words) > 1 else ""),
        always_complete_options=False,
        default_completer=_ValueCompleter(),
    )


class _ValueCompleter(BaseCompleter):
    """Values of an argument, by the name that its help shows for it."""

    def __call__(
        self,
        *,
        prefix: str,
        action: argparse.Action,
        parser: argparse.ArgumentParser,  # noqa: ARG002 - argcomplete passes it
        parsed_args: argparse.Namespace,
    ) -> Iterable[str]:
        """Return the values that can begin with the prefix."""
        match action.metavar:
            case "RUN":
                return _list_runs(prefix, parsed_args)
            case "JOB":
                return list_job_names(_place_options(parsed_args))
            case "ID" | "CAUSE":
                return CAUSES
            case "STATE":
                return STATES
            case "USER":
                return _list_users(parsed_args)
            case "CHANNEL":
                return [*load_settings()["channels"].value, MAILBOX, NONE]
            case "CMD" if parsed_args.command in (None, [], ["--"]):
                return [*_list_programs(prefix), *FilesCompleter()(prefix)]
            case "DIR":
                return DirectoriesCompleter()(prefix)
            case "FILE" | "LOG" | "GLOB" | "CMD":
                return FilesCompleter()(prefix)
            case _:
                return ()


def _list_runs(prefix: str, options: argparse.Namespace) -> list[str]:
    """Return "last", then the names and the ids of the newest runs that begin so."""
    places = list_places(_place_options(options))
    paths = list_record_paths(places)[::-1]
    ids = [run_id for run_id in map(os.path.basename, paths) if run_id.startswith(prefix)]
    return ["last", *list_run_names(paths[:_MOST_RUNS]), *ids[:_MOST_RUNS]]


def _list_users(options: argparse.Namespace) -> list[str]:
    """Return "me", then the users and owners of the newest runs."""
    places = list_places(_place_options(options))
    runs = list_runs(places, most=_MOST_RUNS)
    names = (name for run in runs for name in (run.user, run.owner) if name)
    return list(dict.fromkeys(["me", *names]))


def _place_options(options: argparse.Namespace) -> argparse.Namespace:
    """Return the state directory of an unfinished line, in the form of finished options."""
    return argparse.Namespace(state_dir=getattr(options, "state_dir", None))


def _list_programs(prefix: str) -> Iterator[str]:
    """Yield the programs in ``PATH`` whose names begin so."""
    for folder in os.get_exec_path():
        try:
            entries = os.listdir(folder)
        except OSError:
            continue
        yield from (
            name
            for name in entries
            if name.startswith(prefix) and os.access(os.path.join(folder, name), os.X_OK)
        )
