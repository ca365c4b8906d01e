"""Verdicts name the age of evidence, short slowdowns and the families that it excludes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.scenarios.catalogue import CASES
from tests.scenarios.every import MODULES
from tests.scenarios.scene import Card, steps


def _verdict(name: str, home: Path) -> dict[str, Any]:
    """Return the verdict on the first variant of a scenario, with GPUs if any variant has some."""
    assert MODULES
    (case,) = [case for case in CASES if case.name == name]
    scenes = [case.variant(number) for number in range(9)]
    scene = next((one for one in scenes if any(card.used for card in one.cards)), scenes[0])
    return scene.verdict(home)


def _excluded(verdict: dict[str, Any]) -> dict[str, str]:
    return {one["family"]: one["because"] for one in verdict["ruled_out"]}


def test_counter_of_unknown_age(tmp_path: Path) -> None:
    """A counter above zero without a baseline excludes no hardware fault, and lowers the
    confidence."""
    verdict = _verdict("counter_of_unknown_age", tmp_path)
    assert "B2" not in _excluded(verdict)
    assert verdict["confidence"] <= 0.8
    assert any("before the run used it" in text for text in verdict["cannot_decide"])


def test_counter_of_before(tmp_path: Path) -> None:
    """A counter that was above zero at the launch, and did not rise, excludes one."""
    verdict = _verdict("latent_errors", tmp_path)
    assert "B2" in _excluded(verdict)
    assert "latent_fault" in [one["kind"] for one in verdict["warnings"]]


def test_lost_in_a_short_run(tmp_path: Path) -> None:
    """A lost GPU of unknown use is named, with what is not known."""
    verdict = _verdict("lost_in_a_short_run", tmp_path)
    assert verdict["confidence"] == 0.8
    assert "whether that GPU was one of the run's" in verdict["cannot_decide"]


def test_kernel_log_without_the_error(tmp_path: Path) -> None:
    """Nobody is blamed for an error without an Xid, if the kernel log is all that there is."""
    (case,) = [case for case in CASES if case.name == "lost_in_a_short_run"]
    verdict = replace(case.make(Random(0)), missing=["nvml"]).verdict(tmp_path)
    assert (verdict["cause"], verdict["attribution"]) == ("cuda_runtime", "unknown")
    assert verdict["confidence"] == 0.8


def test_fault_that_it_survived(tmp_path: Path) -> None:
    """A fault before many good steps is reported beside the cause."""
    verdict = _verdict("went_on_after_a_fault", tmp_path)
    assert "gpu_hardware" in [one["cause"] for one in verdict["secondary"]]


@pytest.mark.parametrize("name", ["hot_for_two_minutes", "hot_but_as_fast"])
def test_ten_minutes(name: str, tmp_path: Path) -> None:
    """A slowdown of two minutes is not reported as one of ten."""
    verdict = _verdict(name, tmp_path)
    texts = [claim["claim"] for claim in verdict["shows"] if claim["source"] == "nvml"]
    texts += [one["text"] for one in verdict["warnings"] if one["kind"] == "throttling"]
    assert any("slowed down by heat" in text for text in texts)
    assert not any("ten minutes" in text for text in texts)


def test_slower_steps_are_shown(tmp_path: Path) -> None:
    """The claim that a low clock matters cites the time of the steps."""
    verdict = _verdict("hot_for_two_minutes", tmp_path)
    sources = {claim["source"]: claim["claim"] for claim in verdict["shows"]}
    assert sources["progress"].endswith("times as long as before")


def test_work_that_ends_after_the_last_output(tmp_path: Path) -> None:
    """A GPU and a processor that work for some seconds after the last output do not hide a hang."""
    (case,) = [case for case in CASES if case.name == "stuck_for_minutes"]
    scene = case.make(Random(1))
    idle_from = 1 - (scene.silent_s - 6.0) / scene.seconds
    card = Card(load=steps((0.0, 90.0), (idle_from, 0.0)))
    cores = steps((0.0, 8.0), (idle_from, 0.0))
    verdict = replace(scene, cards=[card], cores=cores).verdict(tmp_path)
    assert (verdict["cause"], verdict["family"]) == ("idle_hang", "C3")


def test_steps_printed_before_the_first_entry_of_the_index(tmp_path: Path) -> None:
    """Steps that were printed before the log's size was first noted are as old as the run at
    most: they do not hide that later steps take longer."""
    assert MODULES
    (case,) = [case for case in CASES if case.name == "hot_for_two_minutes"]
    scene = case.make(Random(1))
    seconds, hot_at = scene.seconds, 20.0
    lines = scene.log.count("\n")
    early = 36 / lines

    def printed(part: float) -> float:
        at = part * seconds
        if at < hot_at:
            return early * at / hot_at
        return early + (1 - early) * (at - hot_at) / (seconds - hot_at)

    verdict = replace(scene, printed=printed).verdict(tmp_path)
    assert verdict["cause"] == "throttling"
    sources = {claim["source"]: claim["claim"] for claim in verdict["shows"]}
    assert "times as long as before" in sources["progress"]


@pytest.mark.parametrize(
    ("name", "families"),
    [
        ("worker_killed", {"A1", "C3"}),
        ("nan_to_the_end", {"A2", "B1", "B2"}),
        ("cut_short_in_a_trainer", {"A2", "B1", "B2", "C3"}),
        ("saves_at_each_step", {"A2", "B1", "B2", "C3"}),
        ("trained_by_trainer", {"A2", "B1", "B2", "C3", "E3"}),
    ],
)
def test_neighbours(name: str, families: set[str], tmp_path: Path) -> None:
    """The verdict names what speaks against each neighbouring family."""
    verdict = _verdict(name, tmp_path)
    assert _excluded(verdict).keys() >= families
    assert verdict["family"] not in _excluded(verdict)
