"""The alert about a job: its message, and the part that the record of a run keeps."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gpualert_common.jobs.alerts.alert_action import JobAlertAction
from gpualert_common.jobs.job_report import JobReport
from gpualert_common.launch_record import ChannelConfig, JobMembership
from gpualert_common.notify import job_agreement, job_delivery
from gpualert_common.notify.compose import compose
from gpualert_common.notify.entry import EntryState, OutboxEntry
from gpualert_common.notify.job_part import JOB, JobPart, read_part, store_part, store_report
from gpualert_common.notify.job_warnings import retire_warnings
from gpualert_common.notify.message import Budget, Message
from gpualert_common.notify.outbox import Outbox
from gpualert_common.notify.reconciliation import reconcile
from gpualert_common.notify.record_delivery import deliver
from gpualert_common.notify.schedule import AlertAction
from gpualert_common.record import Record
from gpualert_common.structs import replace
from tests.jobs.composed_job import END, end, lose, merge
from tests.jobs.composed_job import compose as compose_digest
from tests.notify.alerting import MAILBOX, alerts, ended_run, entries
from tests.supervised import Lab

MAIL = Budget(
    text_bytes=200_000, html_bytes=90_000, files_bytes=1 << 20, file_bytes=1 << 20, files=9
)
CHAT = Budget(text_bytes=1500, brief=True)

BUSY: ChannelConfig = {
    "name": "busy",
    "kind": "command",
    "settings": {"command": ["sh", "-c", "exit 75"]},
}
"""A channel that asks for another attempt (EX_TEMPFAIL)."""


def job_run(lab: Lab, **facts: Any) -> Record:
    """Return the record of a run of a job that has just ended."""
    job: JobMembership = {"key": "slurm-17", "name": "llama", "directory": str(lab.home / "jobs")}
    job |= {"node": 0, "nodes": 1}
    record = ended_run(lab, **facts)
    fields = {**record.spec_fields(), "job": job}
    record.write_json("spec.json", fields)
    return Record.open(record.path)


def report(nodes: int = 8) -> JobReport:
    """Return the report of a job in which node 3 runs out of memory."""
    digests = [lose(node, END + 1.0 + node / 1000, nodes) for node in range(nodes)]
    oom = "CUDA out of memory: 2.0 GiB requested on a 79.2 GiB card"
    digests[3] = end(compose_digest(3, nodes), "cuda_oom", rank=29, headline=oom)
    return merge(*digests)


def sender(
    lab: Lab, shown: JobReport, number: int = 1, claimed_at: float = END + 2.1234567
) -> Record:
    """Return the record of a run that sends the alert about its job."""
    record = job_run(lab, log=b"RuntimeError: Connection closed by peer\n")
    store_report(record, shown)
    action = JobAlertAction.SEND if number == 1 else JobAlertAction.ADD
    store_part(
        record, JobPart(action=action, number=number, claimed_at=claimed_at, has_report=True)
    )
    return record


def message(record: Record, budget: Budget = MAIL) -> Message:
    """Return the message about the end of a run."""
    return compose(record, budget, [])[0]


def test_culprit_comes_first(lab: Lab) -> None:
    """The message names the node and rank at fault, and where its log is; one row has the rest."""
    found = message(sender(lab, report(64)))
    assert found.subject.startswith("[gpualert] llama failed: cuda_oom on gpu3 (rank 29)")
    assert found.text.splitlines()[0].startswith("CUDA out of memory")
    assert "gpu3:/var/lib/gpualert/runs/run-3" in found.text
    assert "gpu[0-2,4-63]" in found.text
    assert "Connection closed by peer" not in found.text.partition("Nodes:")[2]
    assert found.html is not None
    assert "gpu[0-2,4-63]" in found.html


def mixed_report(nodes: int) -> JobReport:
    """Return the report of a job whose nodes ended in six ways."""
    digests = [lose(node, END + 1.0, nodes) for node in range(nodes) if node not in (30, 31)]
    digests[3] = end(compose_digest(3, nodes), "cuda_oom", rank=29)
    digests[10] = compose_digest(10, nodes, at=END - 60.0, sequence=90)
    digests[20] = end(compose_digest(20, nodes), "none", END + 2.0)
    digests[21] = end(compose_digest(21, nodes), "killed_unknown", END + 3.0)
    return merge(*digests)


def test_rows_of_many_nodes(lab: Lab) -> None:
    """A mail has all rows, with the number of nodes in each; a chat says how many it leaves out."""
    record = sender(lab, mixed_report(64))
    mail, chat = message(record), message(record, CHAT)
    assert "2 nodes: node [30-31] " in mail.text
    assert mail.html is not None
    assert "ranks 464 of 0-511<" in mail.html
    assert "gpu[0-2,4-9,11-19,22-29,32-63] (58 nodes): cascade, collective, failed" in chat.text
    assert "\nand 2 more nodes\n" in chat.text


def test_place_of_the_log(lab: Lab) -> None:
    """The message names the node that the log and the files in it are of."""
    record = sender(lab, report())
    found = message(record)
    host = record.spec.host
    assert f"The log of {host}, which sends this (" in found.text
    assert f"{host}:{record.path}" in found.text
    assert f"Files of {host}" in (found.html or "")


def test_log_of_the_culprit(lab: Lab) -> None:
    """The node at fault that sends the alert itself shows its log's last lines."""
    record = sender(lab, report())
    shown = report()
    nodes = [
        replace(one, run_id=record.run_id) if one.host == "gpu3" else one for one in shown.nodes
    ]
    store_report(record, replace(shown, nodes=tuple(nodes)))
    assert "The log's last lines" in message(record).text


@pytest.mark.parametrize("nodes", [2, 8, 750])
def test_message_fits(lab: Lab, nodes: int) -> None:
    """A job of any size fits into the budgets of a mail and of a chat."""
    record = sender(lab, report(max(4, nodes)))
    mail, chat = message(record), message(record, CHAT)
    assert len(mail.text.encode()) < 10_000
    assert mail.html is not None
    assert len(chat.text.encode()) <= CHAT.text_bytes
    assert "gpu3" in chat.text


def test_addition(lab: Lab) -> None:
    """An addition says that it corrects an earlier alert, in the thread of the job."""
    first, second = message(sender(lab, report())), message(sender(lab, report(), number=2))
    assert "(corrected)" in second.subject
    assert "changes the cause" in second.text
    assert first.id != second.id
    assert first.thread == second.thread is not None


def test_copies_are_one_message(lab: Lab) -> None:
    """All nodes give the alert of a job the same permanent Message-ID."""
    assert message(sender(lab, report())).id == message(sender(lab, report())).id


def test_name_that_is_used_again(lab: Lab) -> None:
    """The alert of a later job with the same name, number and attempt is another message."""
    first, later = message(sender(lab, report())), message(sender(lab, report(), claimed_at=END))
    assert first.id != later.id


def test_hostile_report(lab: Lab) -> None:
    """Names and texts of other nodes cannot break a header, the text or the page."""
    evil = "gpu\x1b[31m\r\nBcc: x@example.org\u202e<script>" + "y" * 3000
    shown = report()
    verdict = replace(shown.verdict, headline=evil, host=evil, do=(evil,) * 50)
    nodes = tuple(replace(one, host=evil, headline=evil, record_path=evil) for one in shown.nodes)
    found = message(sender(lab, replace(shown, name=evil, verdict=verdict, nodes=nodes)))
    assert "\n" not in found.subject
    assert len(found.subject) <= 120
    assert not {"\x1b", "\u202e"} & set(found.text + (found.html or ""))
    assert "<script>" not in (found.html or "")


def test_alert_without_the_job_directory(lab: Lab) -> None:
    """A run that could not reach the job directory sends its own alert, and says so."""
    record = job_run(lab)
    because = "the job directory cannot be reached: /shared/jobs: no such file"
    store_part(record, JobPart(action=JobAlertAction.SEND, because=because))
    found = message(record)
    assert "this alert is about this run alone" in " ".join(found.text.split())
    assert found.id == f"<{record.run_id}.ended@gpualert.invalid>"


def test_damaged_report(lab: Lab) -> None:
    """A damaged report of the job costs the job's part of the message, not the alert."""
    record = sender(lab, report())
    Path(record.path, "job_report.json").write_bytes(b'{"schema": 1, "nodes": 7')
    assert "Connection closed by peer" in message(record).text


@pytest.mark.parametrize(
    ("action", "decided", "state"),
    [
        (JobAlertAction.WAIT, AlertAction.AGREE, EntryState.HELD),
        (JobAlertAction.SEND, AlertAction.SEND, EntryState.PENDING),
        (JobAlertAction.LEAVE, AlertAction.SKIP, EntryState.SUPERSEDED),
    ],
)
def test_part_decides(
    lab: Lab, action: JobAlertAction, decided: AlertAction, state: EntryState
) -> None:
    """The part of a run in its job decides about the entries of its outbox, with the reason."""
    record = job_run(lab)
    reconcile(record)
    store_part(record, JobPart(action=action, because="sent by gpu3"))
    decision, found = reconcile(record)
    assert decision.action is decided
    assert [entry.state for entry in found] == [state]
    has_reason = state is not EntryState.PENDING
    assert (found[0].fields.get("because") == "sent by gpu3") is has_reason


def test_alert_taken_over(lab: Lab) -> None:
    """An alert that another node took over is no longer pending here."""
    record = job_run(lab)
    reconcile(record, job=JobPart(action=JobAlertAction.SEND))
    leaves = JobPart(action=JobAlertAction.LEAVE, because="the alert of the job was sent by gpu3")
    reconcile(record, job=leaves)
    (entry,) = entries(record)
    assert (entry.state, entry.fields["because"]) == (EntryState.SUPERSEDED, leaves.because)


def test_damaged_part(lab: Lab) -> None:
    """A damaged file of the part counts as missing: the nodes are asked again."""
    record = job_run(lab)
    Path(record.path, JOB).write_bytes(b'{"schema": 1, "action": "explode"}')
    assert read_part(record) == JobPart()
    assert read_part(ended_run(lab)) is None


def test_warnings_of_a_job(lab: Lab) -> None:
    """Of each kind of warning one node sends one, and the others retire theirs with the reason."""
    (lab.home / "jobs").mkdir()
    found = []
    for kind in ("early_hang", "early_hang", "early_throttling"):
        outbox = Outbox(job_run(lab))
        entry = outbox.add(outbox.draft(MAILBOX, EntryState.PENDING, about=kind, warning={}))
        retire_warnings(outbox.record, [entry])
        found.append(entry)
    assert [entry.state for entry in found] == ["pending", "superseded", "pending"]
    assert found[1].fields["because"].startswith("the warning of the job is sent by ")


def test_warning_without_the_job_directory(lab: Lab) -> None:
    """A job directory that cannot be reached costs no warning."""
    (lab.home / "jobs").write_text("no directory")
    outbox = Outbox(job_run(lab))
    entry = outbox.add(outbox.draft(MAILBOX, EntryState.PENDING, about="early_hang", warning={}))
    retire_warnings(outbox.record, [entry])
    assert entry.state is EntryState.PENDING


def test_killed_culprit(lab: Lab) -> None:
    """The end of a culprit that a signal killed is told by the name of the signal."""
    shown = report()
    nodes = [replace(one, exit_code=-9) if one.host == "gpu3" else one for one in shown.nodes]
    text = message(sender(lab, replace(shown, nodes=tuple(nodes)))).text
    assert "killed by signal 9 (SIGKILL)" in text


def test_retry_by_hand(lab: Lab) -> None:
    """An alert that a person sends by hand waits for no other node, and claims nothing."""
    directory = lab.home / "jobs"
    directory.mkdir()
    record = job_run(lab)
    (found,) = deliver(record, send_now=True, retry_for_s=0.0)
    assert found.state is EntryState.SENT
    assert not list(directory.iterdir())


def test_copy_by_hand(lab: Lab) -> None:
    """A copy that a person asks for stays queued, although another node has sent the alert."""
    record = job_run(lab)
    store_part(record, JobPart(action=JobAlertAction.LEAVE, because="it was sent by gpu3"))
    (found,) = deliver(record, extra_channels=[BUSY], send_now=True, retry_for_s=0.0)
    assert (found.channel, found.state) == ("busy", EntryState.PENDING)
    reconcile(record)
    assert [entry.state for entry in entries(record)] == [EntryState.PENDING]


def test_old_alert_without_the_job_directory(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """An alert that was left long ago is sent, also if the job directory is gone for good."""
    monkeypatch.setattr(job_delivery, "_LAST_TRY_S", 0.5)
    monkeypatch.setattr(job_delivery, "_OLD_S", 0.0)
    monkeypatch.setattr(job_agreement, "NOTE_S", 0.0)
    (lab.home / "jobs").write_text("no directory")
    (found,) = deliver(job_run(lab), retry_for_s=5.0, agree_within_s=30.0)
    assert found.state is EntryState.SENT


class _ToldError(Exception):
    """Ends a delivery whose held alert says why."""


def test_held_alert_says_why(lab: Lab) -> None:
    """While the nodes cannot agree, the alert says why, as soon as that is known."""
    (lab.home / "jobs").write_text("no directory")

    def check(found: list[OutboxEntry]) -> None:
        (entry,) = found
        assert entry.state is EntryState.HELD
        if "cannot be reached" in entry.fields.get("because", ""):
            raise _ToldError

    with pytest.raises(_ToldError):
        deliver(job_run(lab), retry_for_s=60.0, on_progress=check)


class _NotedError(Exception):
    """Ends a delivery whose alert is noted as sent."""


def test_sent_alert_is_noted_at_once(lab: Lab) -> None:
    """The claim says that the alert was sent while another channel still fails."""
    (lab.home / "jobs").mkdir()
    record = job_run(lab, alerts=alerts(MAILBOX, BUSY))

    def check(found: list[OutboxEntry]) -> None:
        claims = list((lab.home / "jobs").glob("*/alerts/*.json"))
        is_noted = any(json.loads(one.read_bytes()).get("sent_at") for one in claims)
        if is_noted and {entry.state for entry in found} == {EntryState.SENT, EntryState.PENDING}:
            raise _NotedError

    with pytest.raises(_NotedError):
        deliver(record, retry_for_s=30.0, on_progress=check)


def test_second_channel_is_tried_again(lab: Lab) -> None:
    """A channel that failed is tried by a later run, although another one has sent the alert."""
    (lab.home / "jobs").mkdir()
    record = job_run(lab, alerts=alerts(MAILBOX, BUSY))
    for attempts in (1, 2):
        found = {entry.channel: entry for entry in deliver(record, retry_for_s=0.0)}
        assert found["mailbox"].state is EntryState.SENT
        assert found["busy"].state is EntryState.PENDING
        assert found["busy"].fields["attempts"] == attempts
