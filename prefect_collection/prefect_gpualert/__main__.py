"""Commands of the collection: ``python -m prefect_gpualert rescue``."""

from __future__ import annotations

import argparse
import sys

from prefect.settings import PREFECT_API_URL

from gpualert_common.settings import parse_duration
from prefect_gpualert import rescue

DESCRIPTION = """\
Create the automations that run a crashed flow run again, so that it adopts its training: one for
the crashes that a worker reports, one for flow runs whose heartbeats stop. A flow run of a
deployment is run again if it has launched a training with retries left, also if that training has
ended; then it trains again. A second call changes nothing.
"""


def main() -> int:
    """Run the command; return its exit status."""
    parser = argparse.ArgumentParser(prog="python -m prefect_gpualert")
    commands = parser.add_subparsers(dest="command", required=True)
    command = commands.add_parser(
        "rescue",
        help="create the automations that run crashed flow runs again",
        description=DESCRIPTION,
    )
    command.add_argument(
        "--silent-for",
        metavar="TIME",
        type=_parse_silence,
        default=rescue.DEFAULT_SILENT_S,
        help="time without a heartbeat after which a flow run counts as crashed (default: "
        f"{rescue.DEFAULT_SILENT_S:g}s, two of Prefect's default heartbeats; 0: do not watch "
        "heartbeats)",
    )
    command.add_argument("--remove", action="store_true", help="remove the automations")
    arguments = parser.parse_args()
    url = PREFECT_API_URL.value()
    if not url:
        command.error("no server: set PREFECT_API_URL, or select a profile that has it")
    lines = rescue.remove() if arguments.remove else rescue.install(arguments.silent_for)
    try:
        for line in lines:
            sys.stdout.write(f"{line}\n")
    except Exception as error:  # noqa: BLE001 - the API is not available, or refuses
        sys.stderr.write(f"{command.prog}: {url}: {type(error).__name__}: {error}\n")
        return 1
    return 0


def _parse_silence(text: str) -> float:
    try:
        silent_s = parse_duration(text) or 0.0
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    if 0.0 < silent_s < rescue.LEAST_SILENT_S:
        least = f"at least {rescue.LEAST_SILENT_S:g}s, two of Prefect's shortest heartbeats, or 0"
        raise argparse.ArgumentTypeError(least)
    return silent_s


if __name__ == "__main__":
    sys.exit(main())
