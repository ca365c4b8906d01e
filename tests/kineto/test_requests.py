"""Requests for traces as files that any program of the user may have written."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gpualert_common.kineto.requests import TraceRequest
from gpualert_common.kineto.stored_traces import add_request, list_traces
from gpualert_common.record import Record
from tests.kineto.asking_runs import launch_asking, trace_json
from tests.supervised import Lab, until


@pytest.mark.parametrize("duration_s", [0.0, 0.09, 60.1, 1e9])
def test_wrong_duration(duration_s: float) -> None:
    """A duration beyond the limits is named with these."""
    problem = TraceRequest(at=0.0, duration_s=duration_s).find_problem()
    assert problem.startswith("a trace takes from 0.1 s to 60 s, not")


def test_stored_requests(tmp_path: Path) -> None:
    """Damaged folders are left out of the list."""
    record = Record.create(str(tmp_path / "record"), sync=False)
    name = add_request(record, TraceRequest(at=1.5, ranks=(1,)))
    traces = tmp_path / "record" / "traces"
    for damaged, text in (("a", "{"), ("b", '{"schema": 1, "at": "never"}'), ("c", "[]")):
        (traces / damaged).mkdir(mode=0o700)
        (traces / damaged / "request.json").write_text(text)
    (traces / "file").touch()
    (traces / "folder").mkdir(mode=0o700)
    assert [one.name for one in list_traces(record)] == [name]
    record.close()


@pytest.mark.usefixtures("sockets")
def test_hostile_requests(lab: Lab) -> None:
    """The daemon refuses a request with wrong values, ignores a damaged one, and takes the next."""
    asking = launch_asking(lab, "write")
    traces = Path(asking.record.path, "traces")
    for name, fields in {
        "1": {"schema": 1, "at": 1e300, "duration_s": 1.0},
        "2": {"schema": 1, "at": 1.0, "duration_s": 1e6},
        "3": {"schema": 1, "at": 1.0, "duration_s": "x" * 100_000},
        "4": {"schema": 99, "at": 1.0},
    }.items():
        hidden = traces / f".{name}"
        hidden.mkdir(mode=0o700)
        (hidden / "request.json").write_text(json.dumps(fields))
        hidden.rename(traces / name)
    result = traces / "2" / "result.json"
    until(result.exists, "the request to be refused")
    assert "a trace takes from" in json.loads(result.read_text())["problem"]
    assert trace_json(lab, "--duration", "100ms")["result"]["processes"][0]["file"]
