"""Tests of the verdict: its parts, the sources of its claims, and its JSON."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest

from gpualert_common.classify import LogReading, RuleSet, Scanner, load_rules
from gpualert_common.codec import decode, encode
from gpualert_common.diagnose import conclude
from gpualert_common.errors import RecordError, RuleError
from gpualert_common.model import Attribution, Disposition, ExitFacts, Retry, SourceStatus, Verdict

RULES = load_rules()
OOM = (
    "step 1 loss 0.1\nTraceback (most recent call last):\n"
    '  File "train.py", line 30, in forward\n    scores = q @ k\n'
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 91.60 GiB. GPU 0 has a total "
    "capacity of 79.20 GiB of which 77.10 GiB is free.\n"
)


def reading(log: str) -> LogReading:
    """Return the reading of *log*."""
    scanner = Scanner(RULES, "output.log")
    scanner.feed(log.encode(), 0)
    return scanner.finish()


def verdict_on(
    readings: list[LogReading], facts: ExitFacts, *, rules: RuleSet = RULES, running: bool = False
) -> Verdict:
    """Return the verdict on these readings and an ending."""
    return conclude(
        run_id="r1",
        attempt=2,
        host="n1",
        log_path="/runs/r1/output.log",
        readings=readings,
        facts=facts,
        rules=rules,
        running=running,
    ).verdict


def verdict(log: str, facts: ExitFacts, *, running: bool = False) -> Verdict:
    """Return the verdict on one log and an ending."""
    return verdict_on([reading(log)], facts, running=running)


def test_words_are_filled() -> None:
    """The headline has the numbers of the message, and the advice fits the kind of failure."""
    found = verdict(OOM, ExitFacts(1))
    assert found.headline == "CUDA out of memory: 91.6 GiB requested on a 79.2 GiB card"
    assert "One allocation alone" in found.implies
    assert found.cannot_decide
    assert not any("{" in text for text in (*found.do, *found.cannot_decide))


def test_fields() -> None:
    """The rule gives family, attribution and retry; the run gives the rest."""
    found = verdict(OOM, ExitFacts(1))
    assert (found.family, found.attribution, found.retry) == (
        "B1",
        Attribution.JOB,
        Retry.AFTER_FIX,
    )
    assert (found.run_id, found.attempt, found.host) == ("r1", 2, "n1")
    assert (found.exit_code, found.signal, found.paper_class) == (1, None, "cuda_oom")


def test_every_claim_has_a_source() -> None:
    """A claim about the log has its place, and an excerpt from there."""
    found = verdict(OOM, ExitFacts(1))
    cited = [claim for claim in found.shows if claim.source == "log"]
    assert cited
    for claim in cited:
        assert claim.where is not None
        assert claim.where.line is not None
        assert claim.excerpt is not None
        assert OOM.encode()[claim.where.offset :].startswith(claim.excerpt[:60].encode())
        assert OOM.splitlines()[claim.where.line - 1].startswith(claim.excerpt[:60])
        assert len(claim.excerpt) <= 300


def test_sources() -> None:
    """All sources are listed, with those that could not be read."""
    found = verdict(OOM, ExitFacts(None))
    log, status = found.sources
    assert log == SourceStatus(
        "log", available=True, file="output.log", bytes_read=len(OOM), unscanned=()
    )
    assert (status.name, status.available) == ("exit_status", False)


def test_unscanned_bytes_are_reported() -> None:
    """Bytes of the log that were never read are in sources and warnings."""
    scanner = Scanner(RULES, "output.log")
    scanner.feed(b"begin\n", 0)
    scanner.feed(b"end\n", 1000)
    found = verdict_on([scanner.finish()], ExitFacts(0))
    assert found.sources[0].unscanned == ((6, 1000),)
    assert found.sources[0].bytes_read == 10
    assert [warning.kind for warning in found.warnings] == ["unscanned"]


def test_no_line_number_after_a_gap() -> None:
    """After a gap the number of a line is unknown: its place is the offset alone."""
    scanner = Scanner(RULES, "output.log")
    scanner.feed(b"begin\n", 0)
    scanner.feed(OOM.encode(), 1000)
    found = verdict_on([scanner.finish()], ExitFacts(1))
    places = [claim.where for claim in found.shows if claim.where is not None]
    assert places
    assert all(where.line is None and where.offset >= 1000 for where in places)


@pytest.mark.parametrize(("before", "family"), [("", "A1"), ("step 1 loss 0.1\n", None)])
def test_family_of_a_plain_bug(before: str, family: str | None) -> None:
    """A bug before training is a start-up crash; the same bug later has no family."""
    log = before + 'Traceback (most recent call last):\n  File "a", line 1, in f\nKeyError: 1\n'
    assert verdict(log, ExitFacts(1)).family == family


def test_success() -> None:
    """A successful run is healthy, and the verdict names what it cannot decide."""
    found = verdict("step 1\n", ExitFacts(0))
    assert (found.cause, found.family, found.disposition) == ("none", "G1", Disposition.COMPLETED)
    assert found.cannot_decide


@pytest.mark.parametrize(
    ("facts", "running", "headline"),
    [
        (ExitFacts(None), True, "Still running"),
        (ExitFacts(None), False, "The outcome of the run is not known"),
    ],
)
def test_neither_success_nor_failure(facts: ExitFacts, running: bool, headline: str) -> None:
    """Without an ending there is no family and no claim of health."""
    found = verdict("step 1\n", facts, running=running)
    assert (found.headline, found.family, found.confidence) == (headline, None, 0.0)


def test_not_started() -> None:
    """The verdict on a program that could not be started has the system's reason."""
    facts = ExitFacts(127, started=False, start_error=(2, "No such file or directory: 'trian'"))
    found = verdict("", facts)
    assert found.headline == "The command could not be started: No such file or directory: 'trian'"
    assert found.disposition is Disposition.NOT_STARTED


def test_failure_behind_status_zero_is_warned_of() -> None:
    """A failure that the exit status hides is reported, with a warning that it is hidden."""
    found = verdict(OOM, ExitFacts(0))
    assert (found.cause, found.disposition) == ("cuda_oom", Disposition.COMPLETED)
    assert [warning.kind for warning in found.warnings] == ["exit_status"]


@pytest.mark.parametrize("code", [None, 0, 1, 2, 126, 127, 137, 255, -1, -9, -11, -64, 300, -300])
def test_any_status_gives_a_verdict(code: int | None) -> None:
    """For any status there is a verdict that is unchanged after encoding as JSON."""
    for log in ("", OOM):
        found = verdict(log, ExitFacts(code))
        assert decode(Verdict, json.loads(json.dumps(encode(found))), "a.json") == found


def test_without_rules(tmp_path: Path) -> None:
    """With no rule at all there is still a verdict."""
    broken: list[RuleError] = []
    rules = load_rules(tmp_path, broken=broken)
    found = verdict_on([], ExitFacts(-9), rules=rules)
    assert (found.cause, found.attribution) == ("killed_unknown", Attribution.UNKNOWN)


def test_functions_of_dataclasses_work() -> None:
    """A caller may use ``asdict``, ``fields`` and ``replace`` of the standard library."""
    found = verdict(OOM, ExitFacts(1))
    assert dataclasses.is_dataclass(found)
    data = dataclasses.asdict(found)
    assert list(data) == [field.name for field in dataclasses.fields(found)]
    assert data["shows"][1]["where"] == {
        "file": "output.log",
        "line": 5,
        "offset": OOM.index("torch."),
    }
    other = dataclasses.replace(found, cause="data")
    assert (other.cause, other.shows, found.cause) == ("data", found.shows, "cuda_oom")
    defaults = {field.name: field.default for field in dataclasses.fields(Verdict)}
    assert defaults["headline"] is dataclasses.MISSING
    assert defaults["implies"] == ""
    for name in data:
        with pytest.raises(AttributeError):
            setattr(found, name, data[name])


def test_json_is_the_contract() -> None:
    """The JSON object has the keys of the contract, with the schema first."""
    data = encode(verdict(OOM, ExitFacts(1)))
    assert next(iter(data)) == "schema"
    assert set(data) == set(Verdict.__struct_fields__)
    assert data["shows"][1]["where"].keys() == {"file", "line", "offset"}


@pytest.mark.parametrize("change", [{"schema": 2}, {"schema": None}, {"disposition": "odd"}])
def test_foreign_json_is_refused(change: dict[str, object]) -> None:
    """A verdict of a newer schema, or other data, is rejected with a reason."""
    data = {**encode(verdict("", ExitFacts(0))), **change}
    with pytest.raises(RecordError):
        decode(Verdict, data, "a.json")
