"""Simulated jobs: the verdict and the alert about them."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from tests.simulation.__main__ import list_variants, run_all
from tests.simulation.disturbances import DISTURBANCES
from tests.simulation.faults import FAULTS, OF_MANY_NODES
from tests.simulation.trial import run_trial

_NODES = 8


@pytest.mark.parametrize("fault", FAULTS)
def test_fault(fault: str) -> None:
    """One alert goes out about a fault, and names its cause and its culprit."""
    results = [run_trial(fault, "none", seed, _NODES) for seed in range(3)]
    assert [one.answer for one in results if not one.is_right] == []


@pytest.mark.parametrize("disturbance", DISTURBANCES)
def test_disturbance(disturbance: str) -> None:
    """A disturbance of the store, the clocks or the senders does not change the alert."""
    results = [run_trial(fault, disturbance, 200, _NODES) for fault in FAULTS]
    assert [one.answer for one in results if not one.is_right] == []


@pytest.mark.parametrize("fault", [one for one in FAULTS if one not in OF_MANY_NODES])
def test_one_node(fault: str) -> None:
    """A job of one node has one alert, too."""
    results = [run_trial(fault, "none", seed, 1) for seed in range(3)]
    assert [one.answer for one in results if not one.is_right] == []


@pytest.mark.parametrize(
    ("fault", "disturbance", "seed", "nodes"),
    [
        pytest.param("exception", "store_slow", 23, 750, id="ended-during-a-minute-of-reading"),
        pytest.param("straggler", "store_failing", 134, 750, id="published-late"),
        pytest.param("wrong_config", "clocks_off", 102, 750, id="clock-compared-with-nothing"),
        pytest.param("wrong_config", "clocks_off", 36, 750, id="several-late-nodes-of-one-attempt"),
        pytest.param("node_dead", "digests_cut", 39, 750, id="cut-digest-of-a-node-that-lives"),
        pytest.param("network_split", "store_failing", 145, 750, id="many-silent-nodes"),
        pytest.param("time_limit", "store_failing", 46, 8, id="outage-after-the-alert"),
    ],
)
def test_hard_case(fault: str, disturbance: str, seed: int, nodes: int) -> None:
    """One right alert goes out, whatever happens to the store, the clocks and the digests."""
    assert run_trial(fault, disturbance, seed, nodes).is_right


def test_results_are_continued(tmp_path: Path) -> None:
    """Results in the file are not simulated again; a call without time returns them alone."""
    kept = tmp_path / "results.jsonl"
    variants = list_variants(["hang", "exception"], ["none"], 2, 1)
    first = run_all(variants[:1], 1, kept, math.inf)
    assert run_all(variants, 1, kept, 0.0) == first
    every = run_all(variants, 1, kept, math.inf)
    assert (every[0], len(every)) == (first[0], 4)
    assert len(kept.read_text().splitlines()) == 4


def test_verdict_is_early() -> None:
    """A job whose digests are all there has its alert within five seconds."""
    results = [run_trial(fault, "none", 3, 64) for fault in ("time_limit", "hang")]
    assert [one.verdict_s for one in results if one.verdict_s > 5.0] == []
