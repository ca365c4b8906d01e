"""Lookup of a run by an id, a name or a path."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpualert_common import record_locations
from gpualert_common.errors import RecordError, UsageError
from gpualert_common.listing.lookup import find_record
from gpualert_common.record import Record
from tests.supervised import Lab

IDS = (
    "20261120-101010-000001-aaaa",
    "20261120-101010-000002-aabb",
    "20261121-090000-000000-cccc",
)


@pytest.fixture
def runs(lab: Lab) -> Path:
    """Three records in the state directory."""
    directory = lab.state / "runs"
    directory.mkdir(0o700, parents=True)
    for run_id in IDS:
        Record.create(str(directory / run_id)).close()
    return directory


@pytest.mark.parametrize(
    ("typed", "found"),
    [
        (IDS[0], IDS[0]),
        ("20261121", IDS[2]),
        ("20261120-101010-000002", IDS[1]),
        ("last", IDS[2]),
    ],
)
def test_run_is_found(lab: Lab, runs: Path, typed: str, found: str) -> None:
    """An id, the start of one, or ``last`` names a run."""
    assert find_record(typed, [str(lab.state)]).run_id == found
    assert find_record(str(runs / found), []).run_id == found


def test_id_that_starts_another(lab: Lab, runs: Path) -> None:
    """A whole id selects its run, even if a longer one begins with it."""
    Record.create(str(runs / (IDS[0] + "0"))).close()
    assert find_record(IDS[0], [str(lab.state)]).run_id == IDS[0]


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ("20261120", "names 2 runs: .*give more of the id"),
        ("2025", "no run '2025' in .*gpualert runs"),
        ("", "names 3 runs"),
    ],
)
def test_run_is_not_found(lab: Lab, runs: Path, typed: str, words: str) -> None:
    """A name of no run, or of several, is an error with the places searched, or the candidates."""
    assert runs.exists()
    with pytest.raises(UsageError, match=words):
        find_record(typed, [str(lab.state)])


def test_no_run_yet(lab: Lab) -> None:
    """Without a run, ``last`` is an error."""
    with pytest.raises(UsageError, match="no run yet"):
        find_record("last", [str(lab.state)])


def test_path_that_is_no_record(lab: Lab) -> None:
    """A missing path is named."""
    with pytest.raises(RecordError, match="nowhere"):
        find_record(str(lab.home / "nowhere"), [])


def test_runs_of_a_stand_in_are_listed(lab: Lab, runs: Path) -> None:
    """Records that fell back are listed with the others, in order of time."""
    _chosen, stand_in, *_ = record_locations.list_state_dirs(str(lab.state))
    elsewhere = Path(stand_in) / "runs"
    elsewhere.mkdir(0o700, parents=True)
    Record.create(str(elsewhere / "20261120-200000-000000-dddd")).close()
    assert runs.exists()
    names = [
        record.run_id
        for record in record_locations.open_records(record_locations.list_places(str(lab.state)))
    ]
    assert names == [*IDS[:2], "20261120-200000-000000-dddd", IDS[2]]


def test_ids_sort_by_time() -> None:
    """Ids made one after the other sort in that order, and none comes twice."""
    made = [record_locations.new_run_id() for _run in range(2000)]
    assert [run_id[:22] for run_id in made] == sorted(run_id[:22] for run_id in made)
    assert len(set(made)) == len(made)
