"""Show a run and its verdict."""

from __future__ import annotations

import argparse
import json
import time

from gpualert_common import record_locations, recover, report
from gpualert_common.cli import live
from gpualert_common.cli.arguments import add_output_forms, add_run
from gpualert_common.cli.records import state_dir, summarize
from gpualert_common.errors import DamagedFileError
from gpualert_common.model import Bundle
from gpualert_common.record import EXIT, OUTCOME, VERDICT, Record
from gpualert_common.redact import Redactor
from gpualert_common.report import Fact, Masks, Unmasked, markdown, terminal
from gpualert_common.spec import SCHEMA


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the run, and how to print its verdict."""
    add_run(parser, "last", "last")
    add_output_forms(parser)


def execute(options: argparse.Namespace) -> int:
    """Show one run: why it ended, what to do, on what evidence; of a live one, how it goes.

    ``--json`` gives the verdict as it was written down, null while there is none.
    """
    record = record_locations.find(options.run, state_dir(options))
    if options.json:
        print(json.dumps(_everything(record)))
    elif options.markdown:
        print(_page(record, Redactor(), None), end="")
    else:
        print(_page(record, Unmasked(), terminal.Paper.of_stdout(whole=options.full)))
    return 0


def _everything(record: Record) -> dict[str, object]:
    return {
        "schema": SCHEMA,
        **summarize(record),
        "spec": record.spec,
        "exit": record.read_json(EXIT),
        "verdict": record.read_json(VERDICT),
        "events": list(record.events()),
    }


def _page(record: Record, masks: Masks, paper: terminal.Paper | None) -> str:
    """What is told of a run: as Markdown where there is no paper."""
    say = report.speaker(masks)
    ending, now = record.ending, list[Fact]()
    try:
        verdict = record.verdict
    except DamagedFileError as error:
        verdict, now = None, [("Verdict", f"damaged, and made of the log again: {error}")]
    if verdict is None:
        alive = ending is None and recover.is_live(record)
        now += _state(record, alive=alive)
        if alive:
            now += live.facts_of(record)
        elif ending is None:
            ending = recover.last_known(record)
        verdict = recover.judge(record, None if alive else ending)
    outcome = record.read_json(OUTCOME)
    alert = report.alert_of(record, Bundle(), redactor=masks, outcome=outcome, log_lines=())
    told = report.told_of(verdict, say, alert)
    lasted_s = alert.duration_s
    if told.disposition == "running":
        lasted_s = max(0.0, time.time() - alert.started_at)
    zone = "local" if paper else "UTC"
    logs = [say(record.log_path(name)) for name in record.logs]
    facts = report.facts_of(alert, told, logs, zone=zone)
    now = [(label, say(value)) for label, value in now]
    if paper is None:
        more = alert.next_command
        return markdown.page(told, lasted_s=lasted_s, now=now, facts=facts, more=more)
    return "\n".join(terminal.page(told, paper, lasted_s=lasted_s, now=now, facts=facts))


def _state(record: Record, *, alive: bool) -> list[Fact]:
    """What is to be known of a run that has no verdict yet."""
    state = record.state
    if state == "lost":
        elsewhere = recover.elsewhere(record)
        if elsewhere:
            return [("State", f"its supervisor is not seen from here: it ran on {elsewhere}")]
        finish = f"gpualert recover {record.run_id}"
        if not alive:
            said = "its supervisor died, so nobody saw how the run ended"
            return [("State", said), ("Next", finish)]
        choice = f"let it end, then {finish}; or end it now: gpualert stop {record.run_id}"
        return [("State", "its supervisor died, the run goes on without it"), ("Next", choice)]
    launched = record.event("launched") or {}
    return [("State", f"{state}, process {launched['pid']}" if "pid" in launched else state)]
