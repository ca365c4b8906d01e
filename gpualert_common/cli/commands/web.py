"""Show the runs of this machine in a browser."""

from __future__ import annotations

import argparse

from gpualert_common.cli import printing
from gpualert_common.cli.arguments import add_state_dir
from gpualert_common.cli.quantity_arguments import parse_count
from gpualert_common.cli.records import list_places
from gpualert_common.errors import UsageError

_MOST_PORT = 65535


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the address, the actions and the state directory."""
    parser.description = (
        "Show the runs of this machine in a browser: a list, a live page of each run, its report, "
        "and comparisons. Prints the address, with a token that is new at each start, and serves "
        "until it is interrupted. Needs the extra: pip install 'gpualert-common[web]'"
    )
    parser.add_argument(
        "--port",
        type=_parse_port,
        metavar="N",
        help="port to listen on, 0 for a free one; default: 8765, or a free one if that is used",
    )
    parser.add_argument(
        "--host",
        default="127.0.0.1",
        metavar="ADDRESS",
        help="address to listen on (default: 127.0.0.1, which only this machine can reach); the "
        "pages and the token are not encrypted, so that others can read them on the way",
    )
    parser.add_argument(
        "--name",
        action="append",
        default=[],
        metavar="NAME",
        help="another name by which browsers reach this server, such as that of a proxy; requests "
        "for unknown names are refused; can be repeated",
    )
    parser.add_argument(
        "--allow-actions",
        action="store_true",
        help="let the pages stop runs and take their stacks; without it they only show",
    )
    add_state_dir(parser)


def execute(options: argparse.Namespace) -> int:
    """Serve the pages until a signal ends this process."""
    try:
        from gpualert_common.web.server import ServerOptions, serve
    except ModuleNotFoundError as error:
        raise UsageError(
            f"gpualert web needs {error.name}, which is not installed: "
            "pip install 'gpualert-common[web]'"
        ) from None
    wanted = ServerOptions(
        places=list_places(options),
        host=options.host,
        port=options.port,
        names=options.name,
        has_actions=options.allow_actions,
    )
    if not wanted.is_local:
        printing.print_notes(
            f"gpualert: {options.host} can be reached from other machines, and nothing is "
            "encrypted: who reads the network reads the token and the pages; "
            "an SSH tunnel to 127.0.0.1 is safer"
        )
    if wanted.has_actions:
        printing.print_notes("gpualert: the pages can stop runs and take their stacks")
    serve(wanted, printing.print_lines)
    return 0


def _parse_port(text: str) -> int:
    port = parse_count(text)
    if port > _MOST_PORT:
        raise argparse.ArgumentTypeError(f"{text} is more than {_MOST_PORT}")
    return port
