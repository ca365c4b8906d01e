"""The verdict of a run as it is now, also of a run in progress, and the facts about its state."""

from __future__ import annotations

from gpualert_common import recover
from gpualert_common.errors import DamagedFileError
from gpualert_common.jobs.renewal.renewal_state import find_loss
from gpualert_common.live_facts import collect_live_facts
from gpualert_common.model import Verdict
from gpualert_common.record import Record, RunState
from gpualert_common.report.formatting import time as format_time
from gpualert_common.report.run_facts import Fact
from gpualert_common.report.wording import describe_place
from gpualert_common.structs import Struct


class CurrentVerdict(Struct, frozen=True):
    """A verdict, and the facts about the state of the run that has it.

    ``facts`` are not masked.  Of a run that ended with a verdict, they only say that its job
    directory cannot be reached.  ``is_live`` is True
    while processes of the run are known to live, ``is_pending`` while the verdict is being made.
    """

    verdict: Verdict
    facts: tuple[Fact, ...]
    is_live: bool
    is_pending: bool


def read_current_verdict(record: Record) -> CurrentVerdict:
    """Return the verdict in a record; while there is none, that of the log as it is now.

    The second takes as long as the log takes to read, and nothing is written.  Raises RecordError
    when the launch record cannot be read.
    """
    ending, facts, is_live = record.ending, list[Fact](), False
    try:
        verdict = record.verdict
    except DamagedFileError as error:
        verdict, facts = None, [("Verdict", f"damaged, and made again from the log: {error}")]
    is_pending = record.is_verdict_pending
    if is_pending:
        facts.append(("Verdict", "still being made; this page shows that of the log as it is now"))
    if verdict is None:
        is_live = ending is None and recover.is_in_progress(record)
        facts += _describe_state(record, is_live=is_live)
        if is_live:
            facts += collect_live_facts(record)
        elif ending is None:
            ending = recover.reconstruct_ending(record)
        verdict = recover.classify_logs(record, None if is_live else ending)
    facts += _describe_job_directory(record)
    return CurrentVerdict(verdict, tuple(facts), is_live, is_pending)


def _describe_job_directory(record: Record) -> list[Fact]:
    """Return since when the other nodes of the job do not see this run, if they do not."""
    lost = find_loss(record.events())
    if lost is None:
        return []
    since = format_time(lost.at, "local")
    return [("Job", f"its directory cannot be written since {since}: {lost.fields.get('problem')}")]


def _describe_state(record: Record, *, is_live: bool) -> list[Fact]:
    """Return the known facts of a run that has no verdict yet."""
    state = record.state
    if state is RunState.LOST:
        if recover.is_remote(record):
            place = describe_place(recover.locate(record.spec), record.spec.host)
            return [("State", f"its supervisor is not visible from here: it ran on {place}")]
        if not is_live:
            problem = "its supervisor died, so its exit status is not known"
            return [("State", problem), ("Next", f"gpualert recover {record.run_id}")]
        choice = (
            "wait for its end: the next command then completes its record; or stop it now: "
            f"gpualert stop {record.run_id}"
        )
        return [("State", "its supervisor died, the run continues without it"), ("Next", choice)]
    pid = record.leader_pid
    return [("State", state if pid is None else f"{state}, process {pid}")]
