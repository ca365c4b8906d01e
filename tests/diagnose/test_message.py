"""Tests of the message of a warning: bounded, masked, and complete for any record."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from gpualert_common.notify.compose import compose_warning
from gpualert_common.notify.entry import EntryFields
from gpualert_common.notify.message import Budget, Message
from gpualert_common.record import SPEC, Record, describe
from gpualert_common.spec import RunSpec, message_id

SECRET = "hunter2-the-channel-password"
WARNING: dict[str, Any] = {
    "event": "warning_raised",
    "at": 1_795_262_400.0,
    "kind": "gpu_idle",
    "says": "GPU 3 idle",
    "since": 1_795_261_000.0,
    "shows": [{"claim": "no kernel ran there for 12 minutes", "source": "nvml"}],
    "do": ["look at the end of the log", "stop it"],
}


def message(home: Path, budget: Budget, **changed: Any) -> Message:
    """Return the message about a run with a long log, with some fields of the warning changed."""
    record = Record.create(str(home / "20261121-120000-000000-abcd"), sync=False)
    spec = RunSpec(["python", "train.py", "--token", SECRET], name="vision")
    record.write_json(SPEC, describe(spec, record, created_at=time.time(), host="gpu-17"))
    lines = "".join(f"step {step} loss 2.31 \x1b[31m{SECRET}\x1b[0m\n" for step in range(400))
    Path(record.log_path("output.log")).write_text(lines)
    entry: EntryFields = {
        "message_id": message_id(record.run_id, "early_gpu_idle"),
        "warning": {**WARNING, **changed},
    }
    return compose_warning(record, entry, budget, [SECRET])


def test_has_all_parts(tmp_path: Path) -> None:
    """The message has the run, host, problem and time; evidence, advice, and commands."""
    found = message(tmp_path, Budget(text_bytes=20_000))
    assert found.subject == "[gpualert] vision on gpu-17: GPU 3 idle since 11:36 UTC"
    for text in ("GPU 3 idle since 2026-11-21 11:36:40 UTC", "12 minutes [nvml]", "* stop it",
                 "gpu-17", "step 399 loss 2.31", "gpualert show", "gpualert stop"):  # fmt: skip
        assert text in found.text
    assert SECRET not in found.text
    assert "\x1b" not in found.text
    assert not found.attachments


@pytest.mark.parametrize("brief", [False, True])
@pytest.mark.parametrize("text_bytes", [80, 200, 400, 700, 1000, 2000, 4000])
def test_bounded(text_bytes: int, brief: bool, tmp_path: Path) -> None:
    """The text is never longer than the limit of the channel, and starts with the problem."""
    found = message(tmp_path, Budget(text_bytes=text_bytes, brief=brief))
    assert len(found.text.encode()) <= text_bytes
    assert found.text.startswith("GPU 3 idle since")


@pytest.mark.parametrize(
    "changed",
    [
        {"says": "x" * 100_000},
        {"says": None, "since": None, "at": None, "shows": None, "do": None},
        {"says": "a\r\nBcc: me\x00", "since": 1e300, "shows": [3, {}], "do": [None, 7, "y" * 9000]},
        {"since": float("nan")},
    ],
    ids=["long", "nothing", "hostile", "no time"],
)
def test_damaged(changed: dict[str, Any], tmp_path: Path) -> None:
    """Any content of the record becomes one line of subject and a text within the budget."""
    found = message(tmp_path, Budget(text_bytes=3000), **changed)
    assert len(found.subject) <= 120
    assert found.subject.isprintable()
    assert len(found.text.encode()) <= 3000
    assert f"gpualert stop {found.id[1:].partition('.')[0]}" in found.text
