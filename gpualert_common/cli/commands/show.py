"""Show a run and its verdict."""

from __future__ import annotations

import argparse
import time

from gpualert_common import recover
from gpualert_common.cli import live, printing
from gpualert_common.cli.arguments import add_output_forms, add_run
from gpualert_common.cli.records import find_record, format_place
from gpualert_common.codec import encode_part
from gpualert_common.errors import DamagedFileError
from gpualert_common.listing.run_summary import summarize
from gpualert_common.record import EXIT, OUTCOME, VERDICT, Record, RunState
from gpualert_common.redact import Redactor
from gpualert_common.report import markdown, terminal
from gpualert_common.report.run_facts import Fact, list_facts
from gpualert_common.report.run_view import view_run
from gpualert_common.report.text_sanitizer import Masks, NoMasks, TextSanitizer
from gpualert_common.spec import SCHEMA


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the run, and the forms of its verdict."""
    add_run(parser, "last", "last")
    add_output_forms(parser)


def execute(options: argparse.Namespace) -> int:
    """Show one run: the reason for its end, advice and evidence; of a live run, its progress.

    ``--json`` gives the verdict as stored in the record, null while there is none.
    """
    record = find_record(options.run, options)
    if options.json:
        printing.print_json(encode_part(_collect_facts(record)))
    elif options.markdown:
        printing.print_lines(*_page(record, Redactor(), None))
    else:
        layout = terminal.TerminalLayout.of_stdout(is_full=options.full)
        printing.print_lines(*_page(record, NoMasks(), layout), colours=layout.colours)
    return 0


def _collect_facts(record: Record) -> dict[str, object]:
    return {
        "schema": SCHEMA,
        **summarize(record).to_json(),
        "spec": record.spec_fields(),
        "exit": record.read_json(EXIT),
        "verdict": record.read_json(VERDICT),
        "events": [event.to_json() for event in record.events()],
    }


def _page(record: Record, masks: Masks, layout: terminal.TerminalLayout | None) -> list[str]:
    """Return the lines of the page of a run: as Markdown without a layout."""
    text = TextSanitizer(masks)
    ending, now = record.ending, list[Fact]()
    try:
        verdict = record.verdict
    except DamagedFileError as error:
        verdict, now = None, [("Verdict", f"damaged, and made again from the log: {error}")]
    if record.is_verdict_pending:
        now.append(("Verdict", "still being made; this page shows that of the log as it is now"))
    if verdict is None:
        alive = ending is None and recover.is_in_progress(record)
        now += _state(record, alive=alive)
        if alive:
            now += live.collect_live_facts(record)
        elif ending is None:
            ending = recover.reconstruct_ending(record)
        verdict = recover.classify_logs(record, None if alive else ending)
    outcome = record.read_json(OUTCOME)
    view = view_run(record, verdict, masks=masks, outcome=outcome)
    lasted_s = view.duration_s
    if view.disposition == "running":
        lasted_s = max(0.0, time.time() - view.started_at)
    facts = list_facts(view, view.logs, zone="local" if layout else "UTC")
    now = [(label, text.line(value)) for label, value in now]
    if layout is None:
        more = view.next_command
        page = markdown.render_page(view, lasted_s=lasted_s, now=now, facts=facts, more=more)
        return page.rstrip("\n").split("\n")
    return terminal.render_page(view, layout, lasted_s=lasted_s, now=now, facts=facts)


def _state(record: Record, *, alive: bool) -> list[Fact]:
    """Return the known facts of a run that has no verdict yet."""
    state = record.state
    if state is RunState.LOST:
        if recover.is_remote(record):
            place = format_place(record)
            return [("State", f"its supervisor is not visible from here: it ran on {place}")]
        if not alive:
            problem = "its supervisor died, so its exit status is not known"
            return [("State", problem), ("Next", f"gpualert recover {record.run_id}")]
        choice = (
            "wait for its end: the next command then completes its record; or stop it now: "
            f"gpualert stop {record.run_id}"
        )
        return [("State", "its supervisor died, the run continues without it"), ("Next", choice)]
    pid = record.leader_pid
    return [("State", state if pid is None else f"{state}, process {pid}")]
