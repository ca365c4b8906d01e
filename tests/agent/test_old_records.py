"""The removal of old records: only of ended ones that the agent made."""

from __future__ import annotations

import os
from pathlib import Path

from gpualert_common.agent.old_records import remove_old_records
from gpualert_common.external_run import record_run
from gpualert_common.record import EXIT, Record
from gpualert_common.record.watch_history import MADE_BY_AGENT
from gpualert_common.spec import Ending


def make(place: Path, name: str, *, is_of_agent: bool = True) -> Record:
    """Return the record of an ended process."""
    ending = Ending(1000.0, 1001.0)
    ending.code = 0
    record = record_run(ending, run_id=name, state_dir=str(place), command=["train"])
    if is_of_agent:
        record.append_event(MADE_BY_AGENT, by_pid=1)
    return record


def test_oldest_are_removed(tmp_path: Path) -> None:
    """The oldest ended records of the agent go; newer ones, one that has not ended, and those of
    others stay."""
    made = [make(tmp_path, f"2026010{day}-000000-000000-aaaa") for day in range(1, 6)]
    made[0].remove(EXIT)
    make(tmp_path, "20260101-000000-000000-bbbb", is_of_agent=False)
    remove_old_records([str(tmp_path)], most=2)
    left = sorted(name for name in os.listdir(tmp_path / "runs") if not name.startswith("."))
    assert left == [
        "20260101-000000-000000-aaaa",
        "20260101-000000-000000-bbbb",
        "20260104-000000-000000-aaaa",
        "20260105-000000-000000-aaaa",
    ]


def test_size_of_all(tmp_path: Path) -> None:
    """Of records that take more than the limit together, the oldest go."""
    made = [make(tmp_path, f"2026010{day}-000000-000000-aaaa") for day in range(1, 4)]
    (Path(made[1].path) / "output.log").write_bytes(bytes(1 << 20))
    remove_old_records([str(tmp_path)], most_bytes=1 << 20)
    assert os.listdir(tmp_path / "runs") == [made[2].run_id]
