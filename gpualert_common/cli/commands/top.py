"""Show the live runs in the terminal, and the runs that ended last."""

from __future__ import annotations

import argparse
import os
import threading
import time
from contextlib import suppress

from gpualert_common.cli import printing
from gpualert_common.cli.arguments import add_json, add_state_dir
from gpualert_common.cli.live_table import LEAST_COLUMNS, LivePage, format_live_table, format_page
from gpualert_common.cli.quantity_arguments import parse_count
from gpualert_common.cli.records import list_places
from gpualert_common.cli.screen import Screen, open_screen
from gpualert_common.current_runs.live_runs import LiveRun, LiveRuns, RunDetails, read_details
from gpualert_common.report.colours import has_colours
from gpualert_common.spec import SCHEMA

_STDIN, _STDOUT = 0, 1
_ENDED = 5
_PIPED = 160
_PAUSE_S = 1.0
"""Between two readings, and between two drawings without a key."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the number of ended runs, and the forms of the output."""
    parser.description = (
        "Show the live runs in the terminal, and the runs that ended last. Keys: the arrows select "
        "a run, Enter shows its details, q quits. Without a terminal, or with --once, the table is "
        "printed once."
    )
    parser.add_argument(
        "--ended",
        type=parse_count,
        default=_ENDED,
        metavar="N",
        help=f"show the N runs that ended last; default: {_ENDED}",
    )
    parser.add_argument("--once", action="store_true", help="print the table once, and exit")
    add_json(parser)
    add_state_dir(parser)


def execute(options: argparse.Namespace) -> int:
    """Show the runs until a key quits; once without a terminal."""
    places = list_places(options)
    runs = LiveRuns(places, options.ended, lambda text: printing.print_notes(f"gpualert: {text}"))
    if options.json:
        rows = [run.to_json() for run in runs.read()]
        printing.print_json({"schema": SCHEMA, "runs": rows})
        return 0
    if options.once or not _has_screen():
        return _print_once(runs.read())
    view = _View(runs)
    with open_screen(_STDIN, _STDOUT) as screen:
        try:
            view.show(screen)
        except KeyboardInterrupt:
            pass  # Ctrl-C quits, as q does
        except OSError as error:  # the terminal is gone
            if os.isatty(_STDOUT):
                raise
            printing.print_notes(f"gpualert: {error}")
        finally:
            view.close()
    return 0


def _has_screen() -> bool:
    """True for a terminal on both sides that obeys escape sequences."""
    is_terminal = os.isatty(_STDIN) and os.isatty(_STDOUT)
    return is_terminal and os.environ.get("TERM", "dumb") not in ("", "dumb")


def _print_once(runs: list[LiveRun]) -> int:
    if not runs:
        printing.print_notes("no runs yet")
        return 0
    width = max(LEAST_COLUMNS, printing.terminal_columns(_PIPED))
    now = time.time()
    colours = has_colours(_STDOUT)
    page = LivePage(width, 0, colours=colours) if colours else None
    printing.print_lines(*format_live_table(runs, width, now, page=page), colours=colours)
    return 0


class _View:
    """The runs, read by a thread of its own, so that a slow disk never blocks a key."""

    def __init__(self, runs: LiveRuns) -> None:
        self._source = runs
        self._runs: list[LiveRun] = []
        self._details: RunDetails | None = None
        self._version: tuple[str, float | None] = ("", None)
        self._selected = ""
        self._is_detailed = False
        self._changed = threading.Event()
        self._is_over = False
        self._news = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self._reader = threading.Thread(target=self._read, daemon=True)

    def show(self, screen: Screen) -> None:
        """Draw the page again and again, until a key quits."""
        self._reader.start()
        colours, size = has_colours(_STDOUT), screen.size
        while True:
            if screen.size != size:
                size = screen.size
                screen.redraw()
            page = LivePage(*size, colours, self._select(), self._is_detailed)
            screen.draw(format_page(page, self._runs, self._details, time.time()))
            for key in screen.wait(_PAUSE_S, self._news[0]):
                if not self._obey(key, size[1]):
                    return
            try:
                os.read(self._news[0], 4096)
            except BlockingIOError:
                pass

    def close(self) -> None:
        """Let the reader end; it is not waited for."""
        self._is_over = True
        self._changed.set()

    def _read(self) -> None:
        while not self._is_over:
            self._runs = self._source.read()
            self._read_details()
            with suppress(BlockingIOError):  # a stopped terminal reads no news
                os.write(self._news[1], b"1")
            self._changed.wait(_PAUSE_S)
            self._changed.clear()

    def _read_details(self) -> None:
        """Read the tail of the selected run, if it has grown or is another one."""
        selected = self._select()
        found = (run.last_output_at for run in self._runs if run.summary.path == selected)
        version = (selected, next(found, None))
        if version != self._version:
            self._version = version
            self._details = read_details(selected) if selected else None

    def _select(self) -> str:
        """Return the selected run, the first one if there is none, or it is gone."""
        paths = [run.summary.path for run in self._runs]
        if self._selected not in paths:
            self._selected = paths[0] if paths else ""
        return self._selected

    def _obey(self, key: str, height: int) -> bool:
        """Do what a key asks for; False if it quits."""
        paths = [run.summary.path for run in self._runs]
        at = paths.index(self._select()) if paths else 0
        match key:
            case "quit":
                return False
            case "enter":
                self._is_detailed = not self._is_detailed
            case "back":
                self._is_detailed = False
            case _:
                moves = {"up": -1, "down": 1, "page up": -height // 2, "page down": height // 2}
                at = {"first": 0, "last": len(paths) - 1}.get(key, at + moves.get(key, 0))
                if paths:
                    self._selected = paths[min(max(0, at), len(paths) - 1)]
                    self._changed.set()
        return True
