"""Verdicts on runs that hang, by composed stacks in their records."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pytest

from gpualert_common.stacks.dump import Dump, StackFrame, Wait, WaitKind
from gpualert_common.structs import replace
from tests.scenarios.hangs import ranks_of, stands_while_busy
from tests.scenarios.meetings import waits_for_nodes
from tests.scenarios.scene import Scene, steps
from tests.stacks.composed import TORCH, collective, in_own_code, make_dump, own

_STOPPED = (collective()[0], Wait(WaitKind.STOPPED, "is stopped by a signal"))
_WATCHDOG = (
    "[rank0]:[E1120 09:33:58.904 ProcessGroupNCCL.cpp:685] [Rank 0] Watchdog caught collective "
    "operation timeout: WorkNCCL(SeqNum=51, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, "
    "Timeout(ms)=600000) ran for 600021 milliseconds before timing out.\n"
)


def without_stacks(dump: Dump) -> Dump:
    """Return a dump as it is without py-spy."""
    processes = tuple(
        replace(one, threads=tuple(replace(thread, stack=None) for thread in one.threads))
        for one in dump.processes
    )
    remedy = "pip install 'gpualert-common[stacks]'"
    problem = "no Python stacks: py-spy is not installed"
    return replace(dump, processes=processes, stacks=(), problem=problem, remedy=remedy)


def named(verdict: dict[str, Any]) -> tuple[str, str, str]:
    """Return cause, family and attribution of a verdict."""
    return verdict["cause"], verdict["family"], verdict["attribution"]


def verdict_of(scene: Scene, home: Path) -> dict[str, Any]:
    """Return the verdict on a run."""
    found: dict[str, Any] = scene.verdict(home)
    return found


def test_rank_stopped(tmp_path: Path) -> None:
    """One dump, at the time limit, shows a rank that is stopped; its fault is outside."""
    chance = Random(1)
    scene = stands_while_busy(chance, make_dump(ranks_of(chance, _STOPPED)))
    verdict = verdict_of(scene, tmp_path)
    assert named(verdict) == ("idle_hang", "C3", "external")
    assert verdict["disposition"] == "timeout"
    assert [one["cause"] for one in verdict["secondary"]] == ["time_limit"]


def test_watchdog_gave_up(tmp_path: Path) -> None:
    """The watchdog of the waiting ranks ended the run; the cause is the rank that slept."""
    chance = Random(2)
    dump = make_dump(ranks_of(chance, in_own_code()))
    end = {"limit": None, "signal": None, "code": 1}
    verdict = verdict_of(stands_while_busy(chance, dump, dump, log=_WATCHDOG, **end), tmp_path)
    assert named(verdict) == ("idle_hang", "C3", "job")
    assert verdict["headline"].startswith("Hung: ")
    assert "which sleeps at load (data.py:33)" in verdict["headline"]
    assert [one["cause"] for one in verdict["secondary"]] == ["collective"]


def test_different_operations(tmp_path: Path) -> None:
    """Ranks that wait for each other in different operations are an error of the program."""
    chance = Random(3)
    dump = make_dump(ranks_of(chance, collective("broadcast", 50)))
    verdict = verdict_of(stands_while_busy(chance, dump, dump), tmp_path)
    assert named(verdict) == ("collective", "C2", "job")


def test_rank_gone(tmp_path: Path) -> None:
    """A rank whose process has ended is named; why it ended is not decided by the stacks."""
    chance = Random(4)
    places = ranks_of(chance, gone=1)
    dump = make_dump(places, world_size=max(2, max(places) + 1, len(places) + 1))
    verdict = verdict_of(stands_while_busy(chance, dump, dump), tmp_path)
    assert named(verdict) == ("collective", "C2", "unknown")
    assert "which has no process any more" in verdict["headline"]
    assert any("why that rank ended" in one for one in verdict["cannot_decide"])


def test_computing_rank(tmp_path: Path) -> None:
    """One dump of a rank that computes is no hang; the verdict says what is going on."""
    chance = Random(5)
    dump = make_dump(ranks_of(chance, in_own_code("f", WaitKind.RUNS)))
    verdict = verdict_of(stands_while_busy(chance, dump), tmp_path)
    assert verdict["cause"] == "time_limit"
    (because,) = [one["because"] for one in verdict["ruled_out"] if one["family"] == "C3"]
    assert "which computes at f (data.py:33)" in because


def test_stacks_of_an_earlier_silence(tmp_path: Path) -> None:
    """Stacks that were taken before the last output say nothing about the end."""
    chance = Random(6)
    dump = make_dump(ranks_of(chance, in_own_code()))
    scene = stands_while_busy(chance, dump)
    scene.dumps = [(scene.silent_s + 100.0, dump)]
    assert verdict_of(scene, tmp_path)["cause"] == "time_limit"


def test_stopped_by_a_person(tmp_path: Path) -> None:
    """A person who stops a run that hangs is the cause of its end; the hang is a warning."""
    chance = Random(7)
    dump = make_dump(ranks_of(chance, in_own_code()))
    sender = {"command": "gpualert stop", "uid": 0}
    scene = stands_while_busy(chance, dump, dump, limit=None, signal=15, sender=sender)
    verdict = verdict_of(scene, tmp_path)
    assert verdict["cause"] == "cancelled"
    (text,) = [one["text"] for one in verdict["warnings"] if one["kind"] == "stood_still"]
    assert "which sleeps at load (data.py:33)" in text


def test_wait_that_passes(tmp_path: Path) -> None:
    """One dump of a busy run shows a rank that is late for a moment, which is no hang."""
    chance = Random(8)
    scene = stands_while_busy(chance, make_dump(ranks_of(chance, in_own_code())))
    assert verdict_of(scene, tmp_path)["cause"] == "time_limit"


def test_slow_rank(tmp_path: Path) -> None:
    """A rank that is late in both dumps, and worked in between, is slow and does not hang."""
    chance = Random(9)
    places = ranks_of(chance, in_own_code())
    dumps = make_dump(places), make_dump(places, cpu_s=9.0)
    assert verdict_of(stands_while_busy(chance, *dumps), tmp_path)["cause"] == "time_limit"


def test_ranks_that_communicate(tmp_path: Path) -> None:
    """All ranks of a busy run may be in one operation in both dumps."""
    chance = Random(10)
    dump = make_dump(ranks_of(chance))
    assert verdict_of(stands_while_busy(chance, dump, dump), tmp_path)["cause"] == "time_limit"


def test_ranks_that_wait_idly(tmp_path: Path) -> None:
    """If nothing works, all ranks in one operation are a stalled collective."""
    chance = Random(11)
    dump = make_dump(ranks_of(chance))
    scene = stands_while_busy(chance, dump, cores=steps((0.0, 0.001)))
    scene.cards = ()
    assert named(verdict_of(scene, tmp_path)) == ("collective", "C2", "unknown")


def test_ranks_that_wait_for_others_to_join(tmp_path: Path) -> None:
    """Idle ranks that wait for others to join are a rendezvous."""
    chance = Random(12)
    frames = (StackFrame("_tcp_rendezvous_handler", f"{TORCH}distributed/rendezvous.py", 211),)
    joining = ((*frames, own("main", 3)), Wait(WaitKind.SOCKET, "waits for a socket"))
    dump = make_dump(dict.fromkeys(range(4), joining))
    scene = stands_while_busy(chance, dump, cores=steps((0.0, 0.001)))
    scene.cards = ()
    assert named(verdict_of(scene, tmp_path))[:2] == ("rendezvous", "C1")


def test_short_evaluation_at_one_line(tmp_path: Path) -> None:
    """A rank that computes at one line for minutes may evaluate; it is no hang yet."""
    chance = Random(13)
    places = ranks_of(chance, in_own_code("evaluate", WaitKind.RUNS))
    scene = stands_while_busy(chance, make_dump(places), make_dump(places, cpu_s=29.0))
    scene.silent_s = 400.0
    assert verdict_of(scene, tmp_path)["cause"] == "time_limit"


def test_short_hang_timeout(tmp_path: Path) -> None:
    """Of a run that is ended as hung within a minute, the stacks alone are the reason."""
    chance = Random(15)
    dump = make_dump(ranks_of(chance))
    end = {"limit": "hang", "signal": 15, "code": -15}
    scene = stands_while_busy(chance, dump, dump, **end)
    scene.silent_s, scene.dumps = 65.0, [(35.0, dump), (4.0, dump)]
    assert named(verdict_of(scene, tmp_path)) == ("collective", "C2", "unknown")


def test_hang_timeout_before_the_first_step(tmp_path: Path) -> None:
    """A run that waits for its other processes, and is ended as hung, has not found them."""
    scene = waits_for_nodes(Random(16))
    scene.limit = "hang"
    assert named(verdict_of(scene, tmp_path))[:2] == ("rendezvous", "C1")


@pytest.mark.parametrize("silent_s", [65.0, 900.0])
def test_ranks_without_stacks(tmp_path: Path, silent_s: float) -> None:
    """Without py-spy only the states of the ranks are known: nobody is named."""
    dump = without_stacks(make_dump({0: collective(), 1: in_own_code(), 2: collective()}))
    end = {"limit": "hang", "signal": 15, "code": -15}
    scene = stands_while_busy(Random(17), dump, dump, **end)
    scene.silent_s, scene.dumps = silent_s, [(35.0, dump), (4.0, dump)]
    scene.cores = steps((0.0, 2.0), (1 - silent_s / scene.seconds, 0.0))
    scene.cards = ()
    verdict = verdict_of(scene, tmp_path)
    assert named(verdict) == ("idle_hang", "C3", "unknown")
    claims = [one["claim"] for one in verdict["shows"]]
    assert "ranks 0, 2 wait for a lock, or for another thread; rank 1 sleeps" in claims
    assert "pip install" in verdict["cannot_decide"][-1]


def test_stopped_rank_without_stacks(tmp_path: Path) -> None:
    """A rank that is stopped is the reason, whatever its code is."""
    dump = without_stacks(make_dump({0: collective(), 1: _STOPPED, 2: collective()}))
    verdict = verdict_of(stands_while_busy(Random(18), dump, dump), tmp_path)
    assert named(verdict) == ("idle_hang", "C3", "external")
    assert [one["rank"] for one in verdict["shows"] if one["source"] == "stacks"] == [1]
