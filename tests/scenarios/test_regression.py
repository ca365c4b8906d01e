"""Tests of the comparison with earlier runs: the text, and its limits."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pytest

from gpualert_common.diagnose.regression import describe_history
from gpualert_common.diagnose.run_metrics import count_saves
from gpualert_common.history import EarlierRuns, PastRun
from gpualert_common.progress import Checkpoint, CheckpointAction, Progress
from tests.scenarios.history import OTHER, cards, printed, slow, tokens, usual
from tests.scenarios.scene import Card, Scene, flat

BUSY = (84.0, 96.0)


def verdict(scene: Scene, home: Path) -> dict[str, Any]:
    """Return the verdict on the last of these runs."""
    return scene.verdict(home)


def warned(found: dict[str, Any], kind: str) -> str:
    """Return the text of the only warning of that kind."""
    (text,) = [one["text"] for one in found["warnings"] if one["kind"] == kind]
    return str(text)


def slower_by(chance: Random, times: float, **more: object) -> Scene:
    """Return a run whose steps took this factor longer than in four earlier runs, without a waiting
    GPU."""
    before = [usual(chance) for _run in range(4)]
    return slow(chance, BUSY, log=printed(chance, slower=times), earlier=before, **more)


def test_figures(tmp_path: Path) -> None:
    """The text has the step time, the earlier step time, and the number of earlier runs."""
    found = verdict(slower_by(Random(1), 3.0), tmp_path)
    assert "a step took 1.2" in found["headline"]
    assert "in 4 earlier runs 0.4" in found["headline"]
    assert warned(found, "slower") in found["headline"]
    assert found["details"]["times_slower"] == pytest.approx(3.0, abs=0.2)


@pytest.mark.parametrize(
    ("different", "text"),
    [
        ({"hostname": "n7"}, "host n7, before "),
        ({"given": {"cpus_allowed": 4}}, "4 processors, before 32"),
        ({"given": {"versions": {"torch": "2.13.0"}}}, "torch 2.13.0, before 2.12.1"),
        ({"variables": {"OMP_NUM_THREADS": "1"}}, "OMP_NUM_THREADS=1"),
        ({"variables": {}}, "no OMP_NUM_THREADS=8"),
    ],
)
def test_differences(different: dict[str, Any], text: str, tmp_path: Path) -> None:
    """A slow run without an explanation lists its differences from all earlier runs."""
    scene = slower_by(Random(1), 3.0)
    for one in (*scene.earlier, scene):
        one.given = {"cpus_allowed": 32, "versions": {"torch": "2.12.1"}}
        one.variables = {"OMP_NUM_THREADS": "8"}
    for name, value in different.items():
        setattr(scene, name, value)
    found = verdict(scene, tmp_path)
    assert text in found["details"]["different"]
    assert any(text in question for question in found["cannot_decide"])


def test_nothing_is_different(tmp_path: Path) -> None:
    """Without a known difference the text has none."""
    found = verdict(slower_by(Random(1), 3.0), tmp_path)
    assert found["details"]["health"] == "healthy_slow"
    assert "different" not in found["details"]
    assert len(found["cannot_decide"]) == 1


def test_no_value_of_an_unknown_variable_is_kept(tmp_path: Path) -> None:
    """Only known variables with plain values are kept from an environment."""
    scene = slower_by(Random(1), 3.0)
    scene.variables = {
        "NCCL_DEBUG": "INFO",
        "NCCL_NET": "a b; c" * 9,
        "CUDA_CACHE_PATH": "/home/somebody",
        "NCCL_CONF_FILE": "/x",
    }
    assert verdict(scene, tmp_path)["measured"]["settings"] == "NCCL_DEBUG=INFO"


def test_slow_host(tmp_path: Path) -> None:
    """A host whose runs were all slower is named, even if half of the earlier runs were its own."""
    chance = Random(1)

    def at(host: str, times: float) -> Scene:
        log = printed(chance, slower=times)
        return Scene(log=log, cards=cards(chance), seconds=600.0, hostname=host)

    before = [at(host, times) for host, times in (("n1", 1.0), ("n7", 2.5)) for _run in range(4)]
    scene = slow(chance, BUSY, log=printed(chance, slower=2.5), hostname="n7", earlier=before)
    found = verdict(scene, tmp_path)
    assert found["details"]["health"] == "healthy_slow"
    assert "in 4 runs on n7, 0.4" in found["details"]["different"]
    assert "in 4 on n1" in found["details"]["different"]


def test_other_gpus(tmp_path: Path) -> None:
    """Runs on another GPU model are mentioned and do not count."""
    found = verdict(slower_by(Random(1), 2.0, gpu_model=OTHER), tmp_path)
    assert found["details"]["health"] == "healthy"
    text = warned(found, "slower")
    assert f"this one on 1 of {OTHER}" in text
    assert "those were on 1 of NVIDIA H100" in text


def test_throughput(tmp_path: Path) -> None:
    """If the program reports its throughput, that is compared."""
    chance = Random(1)
    before = [
        Scene(log=tokens(chance, 9000.0), cards=cards(chance), seconds=600.0) for _run in range(3)
    ]
    scene = slow(chance, BUSY, log=tokens(chance, 3000.0), earlier=before)
    assert "tokens/s, in 3 earlier runs 9" in warned(verdict(scene, tmp_path), "slower")


def test_longer_in_the_same_steps(tmp_path: Path) -> None:
    """If steps are as fast as before in a run twice as long, the time was spent elsewhere."""
    scene = slower_by(Random(1), 1.0, seconds=1500.0)
    text = warned(verdict(scene, tmp_path), "slower")
    assert text == "it took 25 min, in 4 earlier runs 10 min, in the same steps"


def test_short_run_is_never_slow(tmp_path: Path) -> None:
    """A difference of three seconds does not count."""
    found = verdict(slower_by(Random(1), 3.0, seconds=3.0, silent_s=0.1), tmp_path)
    assert "slower" not in [one["kind"] for one in found["warnings"]]


@pytest.mark.parametrize(
    ("count", "said"), [(0, "no earlier runs"), (1, "1 earlier run "), (2, "2 ")]
)
def test_too_few_runs(count: int, said: str) -> None:
    """With too few runs the text has their number and the required number."""
    well = {"disposition": "completed", "cause": "none"}
    runs = tuple(PastRun(str(number), "x", 1.0, **well) for number in range(count))  # type: ignore[arg-type]
    source = describe_history(EarlierRuns((*runs, PastRun("failed", "x", 1.0))))
    assert not source.available
    assert source.why.startswith(said)
    assert source.why.endswith("succeeded, and 3 are needed")


@pytest.mark.parametrize(("every", "saves"), [(1, 100), (7, 100), (3, 900)])
def test_number_of_checkpoints(every: int, saves: int) -> None:
    """If old checkpoints are removed, their number follows from the steps between them."""
    steps = [number * every for number in range(1, saves + 1)]
    kept = steps if saves < 256 else [*steps[:128], *steps[-128:]]
    checkpoints = tuple(Checkpoint(CheckpointAction.SAVED, "x", 1, step, step) for step in kept)
    assert count_saves(Progress(("x",), checkpoints=checkpoints)) == pytest.approx(saves, abs=1)


@pytest.mark.parametrize(
    ("log", "why"),
    [
        ("all done\n", "no known form of training progress"),
        ("".join(f"step {n}/90\n" for n in range(90)), "no loss"),
        ("".join(f"step {n} loss {9 - n}\n" for n in range(4)), "too few losses"),
        ("".join(f"step {n}: loss {1 + n % 3}\n" for n in range(90)), "did not fall"),
    ],
)
def test_unverifiable(log: str, why: str, tmp_path: Path) -> None:
    """Without a falling loss it is unknown whether a run trained, and the text gives the reason."""
    found = verdict(Scene(log=log, cards=cards(Random(1)), seconds=600.0), tmp_path)
    assert (found["cause"], found["details"].get("health")) == ("none", "unverifiable")
    assert why in warned(found, "unverifiable")
    assert any(why in text for text in found["cannot_decide"])


@pytest.mark.parametrize(
    ("seconds", "gpus", "asked"), [(60.0, 0, False), (60.0, 1, True), (600.0, 0, True)]
)
def test_when_nobody_asks(seconds: float, gpus: int, asked: bool, tmp_path: Path) -> None:
    """A short command without GPUs gets no remark about its training."""
    scene = Scene(log="done\n", cards=cards(Random(1), count=gpus), seconds=seconds, silent_s=0.1)
    kinds = [one["kind"] for one in verdict(scene, tmp_path)["warnings"]]
    assert ("unverifiable" in kinds) == asked


@pytest.mark.parametrize(("share", "gpus"), [(0.0, None), (0.5, 2)])
def test_gpus_without_processes(share: float, gpus: int | None, tmp_path: Path) -> None:
    """If NVML reports no process, the GPUs of a run are those with memory in use."""
    idle = [Card(used=False, memory=flat(share)) for _card in range(2)]
    found = verdict(Scene(log="done\n", cards=idle, seconds=60.0, silent_s=0.1), tmp_path)
    assert found["measured"].get("gpus") == gpus
