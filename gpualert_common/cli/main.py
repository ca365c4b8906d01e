"""The program: it runs one command and turns its errors into an exit status.

``gpualert run`` imports nothing that would delay the child.
"""

from __future__ import annotations

import io
import os
import sys

from gpualert_common.cli.arguments import build_parser
from gpualert_common.errors import GPUAlertError, NoDurableLogError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

EXIT_NEGATIVE = 1


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program; returns its exit status."""
    _open_standard_descriptors()
    _print_anything()
    argv = list(sys.argv[1:] if arguments is None else arguments)
    options, unknown = build_parser(argv[0] if argv else "").parse_known_args(argv)
    if unknown:
        options.parser.error(f"unknown arguments: {' '.join(unknown)}")
    try:
        return int(options.execute(options))
    except BrokenPipeError:
        _discard_stdout()
        return EXIT_NEGATIVE
    except (GPUAlertError, OSError) as error:
        lead = "" if isinstance(error, NoDurableLogError) else "error: "
        print(f"gpualert: {lead}{error}", file=sys.stderr)
        return int(options.parser.usage_status)
    except KeyboardInterrupt:
        return 130


def _open_standard_descriptors() -> None:
    """Open the null device for each of 0, 1 and 2 that the caller closed.

    Otherwise the next opened file would get that number.
    """
    fd = os.open(os.devnull, os.O_RDWR)
    while fd <= 2:
        os.set_inheritable(fd, True)
        fd = os.dup(fd)
    os.close(fd)
    if sys.stderr is None:  # print() would take stdout instead
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - for the whole process


def _print_anything() -> None:
    """Escape characters that the encoding of the terminal lacks, instead of failing."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _discard_stdout() -> None:
    """Discard all further output to stdout, also at exit: its reader has exited."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
