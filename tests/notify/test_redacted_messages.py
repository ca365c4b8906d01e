"""Messages about runs whose logs have a secret at a limit: no part of it leaves the machine."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gpualert_common.external_run import record_run
from gpualert_common.notify.compose import compose
from gpualert_common.notify.message import Budget
from gpualert_common.record import VERDICT
from gpualert_common.redact import Redactor
from gpualert_common.report.markdown import render_page
from gpualert_common.report.run_view import view_run
from gpualert_common.spec import Ending
from tests.notify.alerting import body, mails
from tests.redact.planting import FORMS_IN_A_LINE, PlantedSecret, fill_words
from tests.supervised import Lab, python

ONE_OF_EACH_KIND = {str(form.id).partition("-")[0]: form for form in FORMS_IN_A_LINE}.values()
BUDGET = Budget(text_bytes=100_000, html_bytes=200_000, files_bytes=100_000, file_bytes=50_000,
                files=5)  # fmt: skip
FEW_BYTES = Budget(text_bytes=1_500, brief=True)


@pytest.mark.parametrize("notation", ONE_OF_EACH_KIND)
@pytest.mark.parametrize("log", ["exception", "line", "middle"])
def test_message_about_a_run(notation: str, log: str, tmp_path: Path) -> None:
    """Text, HTML, Markdown, attachments and the strings of the verdict have no part of a secret."""
    planted = PlantedSecret(notation)
    limit = 240 if log == "exception" else 300
    fill = fill_words(max(1, limit - len(planted.text) // 2 - 40))
    text = {
        "exception": f'Traceback (most recent call last):\n  File "train.py", line 3, in <module>\n'
        f"RuntimeError: {fill}{planted.text} {fill_words(400)}\n",
        "line": f"CUDA out of memory. {fill}{planted.text} {fill_words(400)}\n",
        "middle": f"{fill_words(400)}{planted.text} CUDA out of memory. {fill_words(300)}\n",
    }[log]
    ending = Ending(time.time() - 60.0, time.time())
    ending.code = 1
    record = record_run(ending, state_dir=str(tmp_path), log=text.encode(), cwd=str(tmp_path))
    shown = []
    for budget in (BUDGET, FEW_BYTES):
        message, _ = compose(record, budget, [])
        shown += [message.subject, message.text, message.html or ""]
        shown += [attached.content.decode() for attached in message.attachments]
    view = view_run(record, record.verdict, masks=Redactor())
    shown.append(render_page(view, lasted_s=1.0, facts=[], more=""))
    verdict = record.read_json(VERDICT)
    shown += [Redactor().mask_text(text) for text in _strings(verdict)]
    for one in shown:
        assert not planted.find_survivors(one), one
    assert log == "middle" or "RuntimeError" in shown[1] or "out of memory" in shown[1]


RUNS = {
    "github": ("GITHUB ", "«ghp_{{alnum:36}}»"),
    "credential": ("--hf-token ", "«{{alnum:40}}7»"),
    "url_password": ("postgresql://mlflow:", "«{{alnum:40}}»@db.example.org/runs"),
}


@pytest.mark.parametrize("kind", RUNS)
def test_alert_of_a_supervised_run(lab: Lab, kind: str) -> None:
    """The mail, the page and the count of a run whose message is cut within a secret."""
    before, notation = RUNS[kind]
    planted = PlantedSecret(before + notation)
    fill = fill_words(220 - len(before))
    error = f"{fill}{planted.text} {fill_words(400)}"
    lab.gpualert("run", "--notify", "mailbox", "--", *python(f"raise RuntimeError({error!r})"))
    (mail,) = mails(lab)
    shown = [
        str(part.get_content()) for part in mail.walk() if part.get_content_type()[:4] == "text"
    ]
    shown.append(lab.gpualert("show", "last", "--markdown").stdout.decode())
    for one in shown:
        assert "RuntimeError" in one
        assert not planted.find_survivors(one), one
    assert any(f"[redacted {kind}]" in one for one in shown)
    assert "masked" in body(mail) or "redacted" in body(mail)


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for one in value.values():
            yield from _strings(one)
    elif isinstance(value, list):
        for one in value:
            yield from _strings(one)
