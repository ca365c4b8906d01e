"""Show a run and its verdict."""

from __future__ import annotations

import argparse
import time

from gpualert_common.cli import printing
from gpualert_common.cli.arguments import add_output_forms, add_run
from gpualert_common.cli.records import find_record
from gpualert_common.codec import encode_part
from gpualert_common.current_verdict import read_current_verdict
from gpualert_common.listing.run_summary import summarize
from gpualert_common.notify.job_part import JOB, read_part
from gpualert_common.record import EXIT, OUTCOME, VERDICT, Record
from gpualert_common.redact import Redactor
from gpualert_common.report import markdown, terminal
from gpualert_common.report.run_facts import list_facts
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
    found = read_current_verdict(record)
    now = [(label, text.line(value)) for label, value in found.facts]
    outcome = record.read_json(OUTCOME)
    view = view_run(record, found.verdict, masks=masks, outcome=outcome)
    lasted_s = view.duration_s
    if view.disposition == "running":
        lasted_s = max(0.0, time.time() - view.started_at)
    facts = list_facts(view, view.logs, zone="local" if layout else "UTC")
    part = read_part(record)
    if part is not None and record.has(JOB):
        facts.append(("Job alert", text.line(part.because)))
    if layout is None:
        more = view.next_command
        page = markdown.render_page(view, lasted_s=lasted_s, now=now, facts=facts, more=more)
        return page.rstrip("\n").split("\n")
    return terminal.render_page(view, layout, lasted_s=lasted_s, now=now, facts=facts)
