"""Records of earlier versions, in ``records/``, can be read unchanged."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from gpualert_common.cli.main import main
from gpualert_common.codec import encode
from gpualert_common.errors import DamagedFileError, RecordError
from gpualert_common.history import make_past_run
from gpualert_common.model import Attribution, Disposition, Retry
from gpualert_common.record import EXIT, VERDICT, Record

RECORDS = sorted((Path(__file__).parent / "records").iterdir())
COMPLETED, FAILED = (path.name for path in RECORDS)


@pytest.fixture
def state_dir(tmp_path: Path) -> Path:
    """A state directory with the stored records."""
    shutil.copytree(RECORDS[0].parent, tmp_path / "runs")
    (tmp_path / "runs").chmod(0o700)
    for path in (tmp_path / "runs").iterdir():
        path.chmod(0o700)
    return tmp_path


def record_of(state_dir: Path, run_id: str) -> Record:
    """Return the copy of a stored record."""
    return Record.open(str(state_dir / "runs" / run_id))


def change(record: Record, without: Iterable[str] = (), **fields: Any) -> None:
    """Replace some fields of the verdict, and remove others."""
    known = {**(record.read_json(VERDICT) or {}), **fields}
    record.write_json(VERDICT, {name: one for name, one in known.items() if name not in without})


def test_verdict_of_a_completed_run(state_dir: Path) -> None:
    """The verdict of a completed run has that disposition."""
    record = record_of(state_dir, COMPLETED)
    assert record.verdict is not None
    assert record.verdict.is_healthy
    assert (record.state, record.verdict.family) == ("ended", "G1")


def test_verdict_of_a_failed_run(state_dir: Path) -> None:
    """The verdict of a run that failed has its cause, its evidence and its advice."""
    record = record_of(state_dir, FAILED)
    verdict = record.verdict
    assert verdict is not None
    assert (verdict.disposition, verdict.cause) == (Disposition.FAILED, "cuda_oom")
    assert (verdict.attribution, verdict.retry) == (Attribution.JOB, Retry.AFTER_FIX)
    exception = verdict.shows[1]
    assert exception.where is not None
    assert (exception.where.file, exception.where.line) == ("stderr.log", 6)
    assert record.ending is not None
    assert record.ending.exit_code == verdict.exit_code == 1


@pytest.mark.parametrize("run_id", [COMPLETED, FAILED])
def test_verdict_is_written_unchanged(run_id: str, state_dir: Path) -> None:
    """Written again, a verdict is the same JSON, key by key."""
    record = record_of(state_dir, run_id)
    assert record.verdict is not None
    assert encode(record.verdict) == record.read_json(VERDICT)


@pytest.mark.parametrize("run_id", [COMPLETED, FAILED])
def test_run_enters_the_history(run_id: str, state_dir: Path) -> None:
    """The history takes its row from the stored files."""
    record = record_of(state_dir, run_id)
    run = make_past_run(record.spec, record.read_json(EXIT) or {}, record.verdict)
    assert run is not None
    assert (run.run_id, run.name, run.steps) == (run_id, "nightly", 7)


@pytest.mark.parametrize("command", [["show"], ["show", "--markdown"], ["show", "--json"]])
@pytest.mark.parametrize("run_id", [COMPLETED, FAILED])
def test_run_is_shown(
    command: list[str], run_id: str, state_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """``gpualert show`` prints it in every form."""
    assert main([*command, "--state-dir", str(state_dir), run_id]) == 0
    assert run_id in capsys.readouterr().out


def test_alert_is_listed(state_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """``gpualert outbox list`` lists the sent alert."""
    assert main(["outbox", "list", "--state-dir", str(state_dir), "--all", "--json"]) == 0
    alerts = json.loads(capsys.readouterr().out)["alerts"]  # of the user's other runs, too
    assert [one["state"] for one in alerts if one["run_id"] == FAILED] == ["sent"]


def test_key_of_a_later_version_is_ignored(state_dir: Path) -> None:
    """An unknown key changes nothing, on any level."""
    record = record_of(state_dir, FAILED)
    before = record.verdict
    shows = [{**claim, "later": 1} for claim in (record.read_json(VERDICT) or {})["shows"]]
    change(record, later={"more": 1}, shows=shows)
    assert record.verdict == before


def test_missing_key_takes_its_default(state_dir: Path) -> None:
    """A key that is missing in an earlier version has its neutral default."""
    record = record_of(state_dir, FAILED)
    change(record, without=("measured", "message_id", "secondary"))
    verdict = record.verdict
    assert verdict is not None
    assert (verdict.measured, verdict.message_id, verdict.secondary) == ({}, None, ())


@pytest.mark.parametrize(
    ("fields", "key"),
    [
        ({"disposition": "odd"}, "disposition"),
        ({"shows": [{"claim": "x", "source": "log"}, {"claim": 3}]}, "shows[1].claim"),
        ({"confidence": "much"}, "confidence"),
    ],
)
def test_damage_is_named(fields: dict[str, Any], key: str, state_dir: Path) -> None:
    """An impossible value is refused with file and key."""
    record = record_of(state_dir, FAILED)
    change(record, **fields)
    with pytest.raises(DamagedFileError) as refused:
        _ = record.verdict
    assert f"{record.path}/verdict.json: {key}: " in str(refused.value)


def test_newer_schema_is_refused(state_dir: Path) -> None:
    """A record of a newer schema is refused with the advice to upgrade."""
    record = record_of(state_dir, FAILED)
    change(record, schema=2)
    with pytest.raises(RecordError, match="upgrade gpualert-common"):
        _ = record.verdict
