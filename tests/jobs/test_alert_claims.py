"""Claims of the alert of a job: their names, and damaged or hostile ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpualert_common.job_store.directory_store import DirectoryStore
from gpualert_common.jobs.alerts.alert_action import JobAlertAction
from gpualert_common.jobs.alerts.alert_claims import ClaimName, ClaimTable, find_attempt
from gpualert_common.jobs.alerts.alert_ownership import LEASE_S
from gpualert_common.jobs.alerts.warning_claims import claim_warning
from gpualert_common.jobs.digests.digest import Digest
from gpualert_common.jobs.job_directory import AlertClaim, JobDirectory
from gpualert_common.structs import replace
from tests.jobs.alerting_nodes import AlertedJob
from tests.jobs.composed_job import END, KEY, compose, end
from tests.jobs.test_alert_ownership import digests

DAMAGED = {
    "empty": b"",
    "cut": b'{"run_id": "run-0", "claimed_by": "gp',
    "bytes": b"\xff\xfe\x00" * 100,
    "types": b'{"run_id": 7, "claimed_by": [], "at": {}}',
    "huge": b'{"run_id": "x", "claimed_by": "y", "at": 1e999}',
    "number": b'{"run_id": "x", "claimed_by": "y", "at": 1.0, "rank": 1' + b"0" * 400 + b"}",
    "deep": b"[" * 5000,
    "large": b" " * (1 << 20),
}


def directory(place: Path) -> JobDirectory:
    """Return a job directory."""
    return JobDirectory(DirectoryStore(str(place), deadline_s=0.0), KEY)


def test_last_turn_counts() -> None:
    """The last turn of a claim is found among names in any order, and other names are ignored."""
    names = [
        "1-1-10.json",
        "1-1.json",
        "1-1-9.json",
        "2-1.json",
        "1-early_hang.json",
        "x",
        "1-2-3-4.json",
    ]
    table = ClaimTable([*names, "-1-1.json", "1-.json", f"{'9' * 400}-1.json", "\u0663-1.json"])
    assert table.find_last(1, 1) == ClaimName(1, 1, 10)
    assert table.find_last(1, 2) is None
    assert table.attempts == [1, 2]
    assert [str(ClaimName(1, 1)), str(ClaimName(1, 1, 2))] == ["1-1", "1-1-2"]


@pytest.mark.parametrize("kind", DAMAGED)
def test_damaged_claim(tmp_path: Path, kind: str) -> None:
    """A damaged claim is one whose owner does not renew it: it is taken over."""
    job = AlertedJob(tmp_path)
    directory(tmp_path).store.create(f"{KEY}/alerts/1-1.json", DAMAGED[kind])
    nodes = [job.add(one) for one in digests()]
    job.run(nodes)
    assert len(job.sent) == 1
    assert END + LEASE_S < job.sent[0].at < END + LEASE_S + 30.0


def test_names_in_a_claim_are_shown_safely(tmp_path: Path) -> None:
    """The host that another process wrote into a claim cannot break the text that names it."""
    job = AlertedJob(tmp_path)
    host = "gpu7\x1b[2J\n\u202eevil" + "x" * 5000
    claim = AlertClaim(
        run_id="other", claimed_by=host, at=END, claimed_at=END, sent_at=END, cause="cuda_oom"
    )
    directory(tmp_path).create_claim("1-1", claim)
    node = job.add(digests()[0])
    job.run([node])
    assert node.last.action is JobAlertAction.LEAVE
    assert len(node.last.because) < 200
    assert node.last.because.isprintable() or "\ufffd" in node.last.because
    assert not {"\x1b", "\n", "\u202e"} & set(node.last.because)


def own(started_at: float, attempt: int | None = None) -> Digest:
    """Return the digest of a run that started then."""
    return replace(end(compose(0), "config"), started_at=started_at, attempt=attempt)


@pytest.mark.parametrize(
    ("started_at", "attempt", "expected"),
    [
        pytest.param(END - 10.0, None, 1, id="before-the-first-claim"),
        pytest.param(END + 50.0, None, 2, id="between-the-claims"),
        pytest.param(END + 150.0, None, 3, id="after-all"),
        pytest.param(END + 150.0, 7, 7, id="numbered"),
    ],
)
def test_attempt_by_claims(
    tmp_path: Path, started_at: float, attempt: int | None, expected: int
) -> None:
    """A run belongs to the first attempt whose alert was claimed after its start."""
    place = directory(tmp_path)
    for number, at in ((1, END), (2, END + 100.0)):
        claim = AlertClaim(run_id="x", claimed_by="gpu1", at=at, claimed_at=at, sent_at=at)
        place.create_claim(str(ClaimName(number, 1)), claim)
    table = ClaimTable(file.name for file in place.list_claims())
    assert find_attempt(place, table, own(started_at, attempt)).attempt == expected


def test_one_warning_of_each_kind(tmp_path: Path) -> None:
    """The first node that claims a kind of warning has it, also if it asks again."""
    place = directory(tmp_path)
    first, second = compose(0), compose(1)
    assert claim_warning(place, first, "early_hang", END) == ""
    assert claim_warning(place, second, "early_hang", END) == "gpu0"
    assert claim_warning(place, second, "early_throttling", END) == ""
    assert claim_warning(place, first, "early_hang", END) == ""
    again = replace(second, attempt=2)
    assert claim_warning(place, again, "early_hang", END) == ""
