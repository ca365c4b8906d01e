"""Stacks in the log of an engine's task."""

from __future__ import annotations

from pathlib import Path

from gpualert_common.guardian.stack_lines import StackLines
from gpualert_common.record import SPEC, Record, describe
from gpualert_common.spec import RunSpec
from gpualert_common.stacks.storage import STACKS, store_dump
from gpualert_common.structs import replace
from tests.stacks.composed import collective, in_own_code, make_dump


def make_record(home: Path) -> Record:
    """Return the record of a run."""
    record = Record.create(str(home / "run"), sync=False)
    record.write_json(SPEC, describe(RunSpec(["train"], cwd="/job"), record, created_at=1.0))
    return record


def test_each_dump_once(tmp_path: Path) -> None:
    """Each dump is shown once, marked as ours, with the rank that the others wait for."""
    record = make_record(tmp_path)
    lines = StackLines(record)
    assert lines.take() == []
    store_dump(record, make_dump({0: collective(), 1: in_own_code()}))
    shown = lines.take()
    assert all(line.startswith("[gpualert] ") for line in shown)
    assert "[gpualert] rank 1: sleeps   <- the others wait for it" in shown
    assert lines.take() == []


def test_long_dump_is_cut(tmp_path: Path) -> None:
    """A dump with many places is cut, and the rest is counted."""
    record = make_record(tmp_path)
    store_dump(record, make_dump({rank: in_own_code(f"f{rank}") for rank in range(64)}))
    shown = StackLines(record).take()
    assert len(shown) == 61
    assert shown[-1].endswith("more lines: gpualert stacks --stored")


def test_secrets_are_masked(tmp_path: Path) -> None:
    """A secret in a line of code does not reach the engine's log."""
    record = make_record(tmp_path)
    frames, wait = in_own_code()
    secret = "hf_" + "a1B2" * 9
    leaking = (replace(frames[0], code=f'login("{secret}")'), *frames[1:])
    store_dump(record, make_dump({0: (leaking, wait)}))
    assert secret not in "".join(StackLines(record).take())


def test_damaged_record(tmp_path: Path) -> None:
    """A record that cannot be read costs the lines, and not the task."""
    record = make_record(tmp_path)
    (Path(record.path) / STACKS).mkdir()
    assert StackLines(record).take() == []
    (Path(record.path) / STACKS).rmdir()
    store_dump(record, make_dump({0: collective()}))
    (Path(record.path) / SPEC).unlink()
    assert StackLines(record).take() == []
