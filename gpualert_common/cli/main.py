"""The program: it runs one command and turns its errors into an exit status.

``gpualert run`` imports nothing that would delay the child.
"""

from __future__ import annotations

import io
import os
import sys

from gpualert_common.cli import printing
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
    if "_ARGCOMPLETE" in os.environ:
        from gpualert_common.cli.completers import complete

        complete()
    argv = list(sys.argv[1:] if arguments is None else arguments)
    parser = build_parser(argv[0] if argv else "")
    try:
        if not argv:
            parser.print_help(sys.stderr)
            return parser.usage_status
        options = parser.parse_args(argv)
        return int(options.execute(options))
    except printing.NoReaderError:
        return EXIT_NEGATIVE
    except NoDurableLogError as error:
        printing.print_notes(*f"gpualert: {error}".split("\n"))
    except (GPUAlertError, OSError) as error:
        printing.print_notes(f"gpualert: error: {error}")
    except KeyboardInterrupt:
        return 130
    except Exception:  # noqa: BLE001 - the boundary: a defect must not pass for a command's status
        import traceback

        printing.print_notes(*traceback.format_exc().splitlines())
    return parser.usage_status


def _open_standard_descriptors() -> None:
    """Open the null device for each of 0, 1 and 2 that the caller closed.

    Otherwise the next opened file would get that number.
    """
    fd = os.open(os.devnull, os.O_RDWR)
    while fd <= 2:
        os.set_inheritable(fd, True)
        fd = os.dup(fd)
    os.close(fd)
    if sys.stdin is None:
        sys.stdin = open(os.devnull, encoding="utf-8")  # noqa: SIM115 - for the whole process
    if sys.stdout is None:  # a command that prints fails, as any program with a closed stdout
        unwritable = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
        sys.stdout = open(unwritable, "w", encoding="utf-8")  # noqa: SIM115 - the same
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - the same


def _print_anything() -> None:
    """Escape characters that the encoding of the terminal lacks, instead of failing."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
