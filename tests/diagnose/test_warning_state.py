"""Tests of the state of warnings: new ones, recovered ones, and their text in a verdict."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from gpualert_common.classify.rule_reader import load_rules
from gpualert_common.diagnose import conclude
from gpualert_common.diagnose.detection import NOT_DETECTED, Detection
from gpualert_common.diagnose.warning_state import MOST_CHANGES, WarningState
from gpualert_common.model import Disposition, ExitFacts, Verdict
from gpualert_common.record import Event

NOON = 1_795_262_400.0
SILENT = Detection("nothing printed", NOON)
IDLE = Detection("GPU 3 idle", NOON + 60)
FAULT = Detection("Xid 79 on GPU 3 (GPU has fallen off the bus)", NOON + 30)


def seen(warned: WarningState, *moments: Mapping[str, Detection]) -> list[Event]:
    """Return the events of several detections, a minute apart."""
    found = []
    for minute, signs in enumerate(moments):
        found += warned.update(signs, NOON + 600 + 60 * minute)
    return found


def news(events: list[Event]) -> list[str]:
    """Return the kinds of warnings that are sent."""
    return [event.fields["kind"] for event in events if event.fields.get("news")]


def ended(disposition: Disposition, cause: str) -> Verdict:
    """Return the verdict on a run with this end."""
    verdict = conclude(
        run_id="r", attempt=1, host="h", log_path=None, readings=(),
        facts=ExitFacts(code=1), rules=load_rules(),
    ).verdict  # fmt: skip
    return replace(verdict, disposition=disposition, cause=cause)


FAILED = ended(Disposition.FAILED, "runtime_error")
WELL = ended(Disposition.COMPLETED, "none")


def texts(warned: WarningState, verdict: Verdict) -> dict[str, str]:
    """Return the texts of a verdict, by kind."""
    return {one.kind: one.text for one in warned.verdict_warnings(verdict)}


def test_once() -> None:
    """A lasting problem raises one warning."""
    events = seen(
        WarningState(), *[{"throttling": Detection("GPU 0 slowed down by heat", NOON)}] * 50
    )
    assert len(events) == 1
    assert news(events) == ["throttling"]


def test_flapping() -> None:
    """A problem that comes and goes raises one warning and a bounded number of events."""
    warned = WarningState()
    events = seen(
        warned,
        *[{"disk_filling": Detection("the disk full", NOON)}, {"disk_filling": NOT_DETECTED}] * 500,
    )
    assert news(events) == ["disk_filling"]
    assert len(events) == MOST_CHANGES
    text = texts(warned, WELL)["early_disk_filling"]
    assert "come and gone 10 times" in text
    assert "withdrawn" not in text  # it may be present again


def test_kind_without_evidence() -> None:
    """A warning without evidence for a while has not recovered."""
    warned = WarningState()
    assert len(seen(warned, {"gpu_idle": IDLE}, {}, {}, {"gpu_idle": IDLE})) == 1
    assert warned.is_active("gpu_idle")


@pytest.mark.parametrize(
    ("moments", "expected"),
    [
        ([{"xid": FAULT, "gpu_idle": IDLE, "log_silent": SILENT}], ["xid"]),
        ([{"xid": FAULT}, {"xid": FAULT, "log_silent": SILENT}], ["xid"]),
        ([{"log_silent": SILENT}, {"log_silent": SILENT, "gpu_idle": IDLE}], ["log_silent"]),
        ([{"gpu_idle": IDLE}, {"gpu_idle": IDLE, "log_silent": SILENT}], ["gpu_idle"]),
        ([{"gpu_idle": IDLE, "log_silent": SILENT}], ["log_silent"]),
        ([{"gpu_idle": IDLE}, {"gpu_idle": NOT_DETECTED}, {"log_silent": SILENT}],
         ["gpu_idle", "log_silent"]),
        ([{"nan": Detection("losses not finite")}, {"xid": FAULT}], ["nan", "xid"]),
        ([{"xid": FAULT}, {"xid": FAULT, "log_silent": Detection("nothing printed", NOON + 86400)}],
         ["xid", "log_silent"]),
    ],
    ids=["fault and all", "fault first", "silent first", "idle first", "earlier first",
         "one after the other", "apart", "a day later"],
)  # fmt: skip
def test_one_cause(moments: list[dict[str, Detection]], expected: list[str]) -> None:
    """A warning that follows from an active one is not sent."""
    assert news(seen(WarningState(), *moments)) == expected


def test_parts_are_listed_with_it() -> None:
    """In the verdict a fault and its consequence are one warning."""
    warned = WarningState()
    seen(warned, {"xid": FAULT}, {"xid": FAULT, "gpu_idle": IDLE})
    (text,) = texts(warned, FAILED).values()
    assert "Xid 79" in text
    assert "; then GPU 3 idle since 2026-11-21 12:01 UTC" in text


def test_withdrawn() -> None:
    """A recovered warning is withdrawn, with both times."""
    warned = WarningState()
    seen(warned, {"gpu_idle": IDLE}, {"gpu_idle": NOT_DETECTED})
    assert texts(warned, WELL) == {
        "early_gpu_idle": "GPU 3 idle from 2026-11-21 12:01 UTC, "
        "recovered at 2026-11-21 12:11 UTC: withdrawn"
    }


@pytest.mark.parametrize(
    ("verdict", "ends"),
    [
        (FAILED, "since 2026-11-21 12:01 UTC"),
        (WELL, "; the run still ended by itself"),
        (ended(Disposition.TIMEOUT, "idle_hang"), ": idle_hang followed"),
    ],
    ids=["failed", "well", "foretold"],
)
def test_still_up(verdict: Verdict, ends: str) -> None:
    """A warning that is active at the end has its time, and whether its cause followed."""
    warned = WarningState()
    seen(warned, {"gpu_idle": IDLE})
    assert texts(warned, verdict)["early_gpu_idle"].endswith(ends)


def test_a_peak_before_the_kill() -> None:
    """A warning that the cause confirms is not withdrawn, though it ended with the process."""
    warned = WarningState()
    sign = Detection("memory of its cgroup nearly used up", NOON)
    seen(warned, {"memory_near_limit": sign}, {"memory_near_limit": NOT_DETECTED})
    text = texts(warned, ended(Disposition.KILLED, "oom_killer"))["early_memory_near_limit"]
    assert text.endswith(": oom_killer followed")
    assert "withdrawn" not in text


def test_from_the_record() -> None:
    """A state that is read from the events is the same, and sends no warning again."""
    moments: list[dict[str, Detection]] = [
        {"xid": FAULT}, {"log_silent": SILENT}, {"log_silent": NOT_DETECTED},
        {"nan": Detection("no", NOON)},
    ]  # fmt: skip
    first = WarningState()
    events = seen(first, *moments)
    nonsense = [Event("warning_raised"), Event("warning_raised", NOON, kind=3)]
    second = WarningState([Event("launched"), *events, *nonsense])
    assert texts(second, FAILED) == texts(first, FAILED)
    assert not seen(second, {"xid": FAULT, "nan": Detection("no", NOON)})
