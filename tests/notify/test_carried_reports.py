"""Alerts carry the report: mails as a page, chats as a picture; no fault of it costs the alert."""

from __future__ import annotations

import base64
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from gpualert_common.charts import drawing
from gpualert_common.external_run import record_run
from gpualert_common.model import Bundle, CarriedReport, ReportForm
from gpualert_common.notify import report_maker
from gpualert_common.notify.channels.apprise import AppriseChannel
from gpualert_common.notify.channels.mailbox import MailboxChannel
from gpualert_common.notify.channels.smtp import SmtpChannel
from gpualert_common.notify.compose import compose
from gpualert_common.notify.message import Budget, Message
from gpualert_common.notify.report_maker import ReportMaker
from gpualert_common.pages import report as page
from gpualert_common.record import Record
from gpualert_common.spec import Ending
from tests.notify.alerting import body, mails
from tests.notify.messages import Arrived
from tests.notify.servers import mail_server
from tests.notify.webhooks import web_server
from tests.structure.source import ROOT
from tests.supervised import Lab, python

STEPS = "".join(f"step {n}/900 loss {2 / (1 + n / 50):.4f}\n" for n in range(300))
ROOMY = Budget(20_000, 0, 1 << 20, 1 << 20, 20, report=ReportForm.PAGE)
SECRET = "hf_" + "Ab3dEf9hIj" * 3 + "klmn"


def failed_run(place: Path, log: str = STEPS, **facts: object) -> Record:
    """Return the record of a training that failed after its log."""
    ending = Ending(time.time() - 60.0, time.time())
    ending.code = 1
    log += "RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB\n"
    return record_run(
        ending, state_dir=str(place / "state"), log=log.encode(), cwd=str(place), name="job"
    )


def carried(bundle: Bundle) -> CarriedReport:
    """Return the row of the report in a manifest."""
    assert bundle.report is not None
    return bundle.report


def compose_for(record: Record) -> Callable[[Budget], Message]:
    """Return the function that a channel gets."""
    reports = ReportMaker(record, [])
    return lambda budget: compose(record, budget, [], reports)[0]


def test_mail_has_the_page(tmp_path: Path) -> None:
    """A mail server gets the report as one HTML file, and the text names it."""
    record = failed_run(tmp_path)
    with mail_server() as server:
        channel = SmtpChannel(
            {"host": "127.0.0.1", "port": server.port, "security": "none", "to": ["me@x.org"]}
        )
        channel.send(compose_for(record), Arrived(), 10.0)
    (received,) = server.received
    files = {part.get_filename(): part for part in received.mail.iter_attachments()}
    name = f"gpualert-{record.run_id}.html"
    assert list(files) == ["output.log", name]
    assert files[name].get_content_type() == "text/html"
    text = files[name].get_content()
    assert "CUDA out of memory" in text
    assert "<script" not in text
    assert f"The report is attached: {name}" in body(received.mail)


def test_small_mail_server_gets_the_text(tmp_path: Path) -> None:
    """A server that takes small mails only gets the text, which says why it has no report."""
    record = failed_run(tmp_path)
    for size, silent_size in ((16_000, None), (None, 16_000)):
        with mail_server(size=size, silent_size=silent_size) as server:
            channel = SmtpChannel(
                {"host": "127.0.0.1", "port": server.port, "security": "none", "to": ["me@x.org"]}
            )
            channel.send(compose_for(record), Arrived(), 10.0)
        (received,) = server.received
        assert len(received.content) <= 16_000
        assert "CUDA out of memory" in body(received.mail)
        assert "The report is not attached: " in body(received.mail)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_chat_has_the_picture_after_the_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A chat gets the text first, and then the timeline as PNG with the files."""
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    record = failed_run(tmp_path)
    with web_server() as server:
        url = f"json://127.0.0.1:{server.port}/hook"
        AppriseChannel({"url": url}).send(compose_for(record), Arrived(), 10.0)
        off = AppriseChannel({"url": url, "report": "none"})
        off.send(compose_for(record), Arrived(), 10.0)
    text, files, _text, without = server.requests
    assert text.json["attachments"] == []
    names = {one["filename"]: one for one in files.json["attachments"]}
    assert list(names) == ["output.log", f"gpualert-{record.run_id}.png"]
    picture = base64.b64decode(names[f"gpualert-{record.run_id}.png"]["base64"])
    assert picture.startswith(b"\x89PNG")
    assert [one["filename"] for one in without.json["attachments"]] == ["output.log"]


def test_secrets_are_masked(tmp_path: Path) -> None:
    """No secret of the log, and none of a channel, is in the attached report."""
    record = failed_run(tmp_path, STEPS + f"token {SECRET} and pass-of-the-channel\n")
    message, bundle = compose(record, ROOMY, ["pass-of-the-channel"])
    (report,) = (one for one in message.attachments if one.name.endswith(".html"))
    assert carried(bundle).is_attached
    assert carried(bundle).sent_bytes == len(report.content)
    for secret in (SECRET, "pass-of-the-channel"):
        assert secret.encode() not in report.content
    assert b"CUDA out of memory" in report.content


@pytest.mark.parametrize(
    ("budget", "why"),
    [
        (Budget(20_000, 0, 10_000, 10_000, 20, report=ReportForm.PAGE), "no room was left"),
        (Budget(20_000, 0, 1 << 20, 1 << 20, 1, report=ReportForm.PAGE), "no room was left"),
        (Budget(20_000, 0, 40_000, 40_000, 9, report=ReportForm.PAGE), "bytes; "),
        (Budget(20_000, 0, 1 << 20, 9_000, 9, report=ReportForm.PICTURE), "at most 9,000 fit"),
        (Budget(900, brief=True, report=ReportForm.PICTURE), "no room was left"),
    ],
    ids=["10 KB", "one file", "40 KB", "small picture", "no files"],
)
def test_report_that_does_not_fit(tmp_path: Path, budget: Budget, why: str) -> None:
    """A report that does not fit is left out, and the manifest says why."""
    message, bundle = compose(failed_run(tmp_path), budget, [])
    assert not carried(bundle).is_attached
    assert why in carried(bundle).why
    assert sum(len(one.content) for one in message.attachments) <= budget.files_bytes
    assert budget.brief or why in " ".join(message.text.split())


def fail() -> None:
    """Raise what a defect may raise."""
    raise RecursionError("a defect")


@pytest.mark.parametrize(
    ("fault", "why"),
    [
        (lambda *_, **__: fail(), "RecursionError: a defect"),
        (lambda *_, **__: time.sleep(1000), "no answer within 0.5 s"),
        (lambda *_, **__: sys.exit(3), "SystemExit"),
        (lambda *_, **__: "x" * (5 << 30), "MemoryError"),
    ],
    ids=["raises", "hangs", "exits", "memory"],
)
def test_broken_report_costs_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: Callable[..., object], why: str
) -> None:
    """A report that fails or hangs is left out; text, log and the time of the alert stay."""
    monkeypatch.setattr(page, "render_report", fault)
    monkeypatch.setattr(report_maker, "REPORT_S", 0.5 if "answer" in why else 20.0)
    message, bundle = compose(failed_run(tmp_path), ROOMY, [])
    assert not carried(bundle).is_attached
    assert why in carried(bundle).why
    assert "CUDA out of memory" in message.text
    assert [one.name for one in message.attachments] == ["output.log"]


def test_missing_charts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the library of pictures the manifest names the package to install."""
    monkeypatch.setattr(drawing, "import_path", lambda: [str(ROOT)])
    monkeypatch.setattr(sys, "executable", os.path.realpath(sys.executable))  # without packages
    budget = Budget(900, 0, 1 << 20, 1 << 20, 9, brief=True, report=ReportForm.PICTURE)
    message, bundle = compose(failed_run(tmp_path), budget, [])
    assert "vl-convert-python" in carried(bundle).why
    assert [one.name for one in message.attachments] == ["output.log"]


def test_run_without_numbers_has_no_picture(tmp_path: Path) -> None:
    """The manifest says that a run has nothing to draw; a page is made of any run."""
    ending = Ending(time.time() - 1.0, time.time())
    ending.started = False
    ending.start_error = (2, "no such program")
    record = record_run(ending, state_dir=str(tmp_path / "state"), log=b"", name="job")
    budget = Budget(900, 0, 1 << 20, 1 << 20, 9, brief=True, report=ReportForm.PICTURE)
    _message, bundle = compose(record, budget, [])
    assert "no numbers" in carried(bundle).why
    _message, bundle = compose(record, ROOMY, [])
    assert carried(bundle).is_attached


def test_setting_of_a_channel(lab: Lab) -> None:
    """The mailbox has the report by default; report=none switches it off; else it is an error."""
    fails = python("raise RuntimeError('no')")
    lab.gpualert("run", "--notify", "mailbox", "--", *fails)
    (mail,) = mails(lab)
    names = [part.get_filename() or "" for part in mail.iter_attachments()]
    assert any(name.endswith(".html") for name in names)
    (record,) = lab.records()
    manifest = Record.open(str(record)).read_json("bundle.mailbox.json")
    assert manifest is not None
    assert manifest["report"]["is_attached"]
    budget = MailboxChannel({"path": str(lab.home), "report": "none"}).budget
    assert budget.report is ReportForm.NONE
    (lab.home / "gpualert.toml").write_text('[channels.box]\nkind = "mailbox"\nreport = "maybe"\n')
    done = lab.gpualert("run", "--notify", "box", "--", "true")
    assert done.returncode == 125
    assert b"'maybe' is not one of attach, none" in done.stderr
