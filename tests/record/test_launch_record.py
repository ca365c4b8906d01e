"""The launch record: written as plain JSON before the launch, read as a class after it."""

from __future__ import annotations

from typing import Any

import pytest

from gpualert_common.codec import encode
from gpualert_common.launch_record import LaunchRecord
from gpualert_common.record import SPEC, Record
from tests.supervised import Lab

OF_EXTERNAL_RUNS = {"supervised", "said", "unread_output"}


@pytest.fixture
def record(lab: Lab) -> Record:
    """The record of a run that has ended."""
    lab.run("true")
    return lab.record()


def change(record: Record, **fields: Any) -> None:
    """Replace fields of the launch record."""
    record.write_json(SPEC, {**record.spec_fields(), **fields})


def test_fields(record: Record) -> None:
    """Every key of spec.json is a field of LaunchRecord, and the other way round."""
    fields = set(LaunchRecord.__struct_fields__)
    assert record.spec_fields().keys() - {"schema"} == fields - OF_EXTERNAL_RUNS


def test_own_record_is_read_the_same(record: Record) -> None:
    """The process that wrote the record gets from its own fields what others read."""
    own = encode(LaunchRecord.of_own(record.spec_fields()))
    assert encode(record.spec) == own
    assert own["environment"]


def test_missing_and_unknown_keys(record: Record) -> None:
    """A missing key has its default, and an unknown one is ignored, on any level."""
    record.write_json(SPEC, {"schema": 1, "later": 1, "custody": {"number": 2, "later": 1}})
    assert record.spec == LaunchRecord(custody={"number": 2})


def test_damaged_values(record: Record) -> None:
    """A damaged value counts as missing, and costs no other one."""
    channel = {"name": "x", "kind": "mailbox", "settings": {}}
    change(
        record,
        name=3,
        command=["train", None, "--fast"],
        custody={"key": ["a", "b"], "number": {}},
        alerts={"channels": ["x", {"name": "y"}, channel], "on": 1, "warn": True},
    )
    found = record.spec
    assert (found.name, found.command) == (None, ("train", "--fast"))
    assert found.custody == {"key": ("a", "b")}
    assert found.alerts == {"channels": [channel], "warn": True}
    assert list(found.logs) == record.spec_fields()["logs"]
