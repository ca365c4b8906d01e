"""The finding of a profile that was taken when steps became slow, in the verdict."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpualert_common.classifier import RunClassifier
from gpualert_common.kineto.trace_analyses import analyse_stored
from gpualert_common.launch_record import LaunchRecord
from gpualert_common.model import Verdict
from gpualert_common.profiles.profile import FrameNode, FrameTree, Profile, ProfiledRank, TreeKind
from gpualert_common.profiles.profile_files import store_profile
from gpualert_common.record import SPEC, Record
from gpualert_common.spec import ON_REQUEST, EndFacts, Ending
from gpualert_common.stacks.dump import StackFrame
from tests.traces.test_stored_analysis import slow_traces, store

FRAMES = (
    StackFrame("train", "/job/train.py", 9, is_own=True),
    StackFrame("load_batch", "/job/data.py", 41, is_own=True),
    StackFrame("step", "/job/train.py", 20, is_own=True),
)
REASON = "steps slower than at its beginning"


def make_profile(loading: tuple[int, ...], reason: str = REASON) -> Profile:
    """Return a profile of ranks that spend so many of 500 samples in load_batch."""
    total = tuple(500 for _rank in loading)
    nodes = (
        FrameNode(-1, 0, total),
        FrameNode(0, 1, loading),
        FrameNode(0, 2, tuple(500 - count for count in loading)),
    )
    ranks = tuple(ProfiledRank(number, 100 + number, 500) for number in range(len(loading)))
    tree = FrameTree(TreeKind.MAIN, total, nodes)
    return Profile(1.0, "node-0", reason, 5.0, 100, ranks, FRAMES, (tree,))


def conclude(
    tmp_path: Path, *profiles: Profile, code: int = 0, on_slowdown: str = "profile"
) -> Verdict:
    """Return the verdict on a run whose record has these profiles."""
    tmp_path.mkdir(exist_ok=True)
    record = Record.create(str(tmp_path / "run"), sync=False)
    launch = LaunchRecord(run_id="run", cwd="/job", on_slowdown=on_slowdown)
    record.write_json(SPEC, {"schema": 1, "run_id": "run", "logs": ["output.log"]})
    for profile in profiles:
        store_profile(record, profile)
    classifier = RunClassifier(launch, record)
    classifier.feed("output.log", b"step 1 loss 2.0\nstep 2 loss 1.5\ndone\n", 0)
    ending = Ending(1.0, 61.0)
    ending.code = code
    return classifier.conclude(ending, EndFacts())


@pytest.mark.parametrize("code", [0, 1])
def test_rank_that_differs_alone(code: int, tmp_path: Path) -> None:
    """One rank that is slower at a place is a warning, and in a success a secondary straggler."""
    verdict = conclude(tmp_path, make_profile((20, 20, 20, 400)), code=code)
    (warning,) = [one for one in verdict.warnings if one.kind == "slow_steps"]
    assert warning.text.startswith(f"{REASON}: rank 3 spends 80 % of its time in load_batch")
    assert ("straggler" in {one.cause for one in verdict.secondary}) is (code == 0)


def test_ranks_alike(tmp_path: Path) -> None:
    """Ranks that are all slow at one place: the warning names it, and nobody is blamed."""
    verdict = conclude(tmp_path, make_profile((400, 400, 400, 400)))
    (warning,) = [one for one in verdict.warnings if one.kind == "slow_steps"]
    assert "ranks 0-3 spend their time alike: 80 % in load_batch" in warning.text
    assert (verdict.cause, verdict.secondary) == ("none", ())


def test_nothing_of_other_profiles(tmp_path: Path) -> None:
    """A profile that a person requested is no evidence, nor is one of a run without the option."""
    asked = conclude(tmp_path / "1", make_profile((20, 20, 20, 400), ON_REQUEST))
    other = conclude(tmp_path / "2", make_profile((20, 20, 20, 400)), on_slowdown="off")
    assert not [one for one in (*asked.warnings, *other.warnings) if one.kind == "slow_steps"]


@pytest.mark.parametrize("has_recovered", [False, True])
def test_trace_of_a_slow_rank(tmp_path: Path, *, has_recovered: bool) -> None:
    """A trace names the straggler of a run that was slow to its end, and nobody is blamed."""
    record = Record.create(str(tmp_path / "run"), sync=False)
    record.write_json(SPEC, {"schema": 1, "run_id": "run", "logs": ["output.log"]})
    warning = {"kind": "slow", "says": REASON, "since": 10.0, "text": REASON, "part_of": None}
    record.append_event("warning_raised", 10.0, **warning)
    if has_recovered:
        record.append_event("warning_recovered", 50.0, **warning)
    analyse_stored(store(record, slow_traces(), reason=REASON))
    classifier = RunClassifier(LaunchRecord(run_id="run", on_slowdown="trace"), record)
    classifier.feed("output.log", b"step 1 loss 2.0\nstep 2 loss 1.5\ndone\n", 0)
    ending = Ending(1.0, 61.0)
    ending.code = 0
    verdict = classifier.conclude(ending, EndFacts())
    if has_recovered:
        assert (verdict.cause, [one.cause for one in verdict.secondary]) == ("none", ["straggler"])
        return
    assert (verdict.cause, verdict.details["rank"]) == ("straggler", 1)
    assert (verdict.attribution, verdict.retry) == ("unknown", "same")
    assert verdict.headline.startswith("Rank 1 is slower by")
    assert not any("card" in one for one in (*verdict.cannot_decide, *verdict.do))
