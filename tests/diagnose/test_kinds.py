"""Tests of each kind of warning: problems that raise it, and near misses."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from gpualert_common.causes import CAUSES
from gpualert_common.coordinator.endpoint_trial import TrialOutcome
from gpualert_common.coordinator.state import CoordinatorState
from gpualert_common.diagnose.detection import NOT_DETECTED, Detection
from gpualert_common.diagnose.evidence import OutputTiming
from gpualert_common.diagnose.phenomena import warning_kinds
from gpualert_common.progress import ProgressReader
from gpualert_common.stacks.dump import StackFrame, Wait, WaitKind
from gpualert_common.structs import replace, to_builtins
from gpualert_common.telemetry.source import SourceEvent
from tests.diagnose.watched import GIB, Curves, Watched, processes, until, used_gpu
from tests.stacks.composed import make_dump, own

MINUTE_S = 60.0
OFTEN = OutputTiming(moments=500, longest_pause_s=14.0)


def xid(number: int, gpu: int = 0, ago_s: float = 20.0) -> tuple[str, float, SourceEvent]:
    """Return an Xid as NVML reports it."""
    fields = {"xid": number, "gpu": gpu}
    return "nvml", ago_s, SourceEvent("xid", f"gpu:{gpu}", f"Xid {number} on GPU {gpu}", fields)


def lost(gpu: int = 0, ago_s: float = 15.0) -> tuple[str, float, SourceEvent]:
    """Return the event of a GPU that does not answer any more."""
    return "nvml", ago_s, SourceEvent("gpu_lost", f"gpu:{gpu}", f"GPU {gpu} is lost", {"gpu": gpu})


def summary_of(found: Detection | None) -> str | None:
    """Return the text of the warning; empty for no problem, None for missing evidence."""
    return None if found is None else found.summary


def parse(lines: str) -> Any:
    """Return the progress in these lines of a log."""
    reader = ProgressReader("output.log")
    reader.feed(lines.encode(), 0)
    return reader.snapshot()


def losses(*values: float | str) -> Any:
    """Return the progress of a plain loop with these losses."""
    return parse("".join(f"step {step} loss {loss}\n" for step, loss in enumerate(values, 1)))


# -- xid -------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [79, 48, 95, 119, 74])
def test_xid_of_the_hardware(number: int, tmp_path: Path) -> None:
    """An Xid of the hardware, or of its driver, raises a warning with its number and meaning."""
    found = Watched(tmp_path, used_gpu(), events=(xid(number),)).judged("xid")
    assert f"Xid {number} on GPU 0" in (summary_of(found) or "")


@pytest.mark.parametrize("number", [13, 31, 43, 45, 63, 92, 154])
def test_xid_that_is_none(number: int, tmp_path: Path) -> None:
    """Xids of programs, consequences, and Xids to ignore raise no warning."""
    found = Watched(tmp_path, used_gpu(), events=(xid(number),)).judged("xid")
    assert found is NOT_DETECTED


def test_xid_of_a_strangers_gpu(tmp_path: Path) -> None:
    """A failure of a GPU that the run does not use raises no warning."""
    curves = {**used_gpu(0), ("gpu:1", "memory_used_bytes"): 0.0}
    assert Watched(tmp_path, curves, events=(xid(79, gpu=1),)).judged("xid") is NOT_DETECTED


def test_lost_gpu(tmp_path: Path) -> None:
    """A lost GPU raises a warning, also without an Xid."""
    found = Watched(tmp_path, used_gpu(), events=(lost(),)).judged("xid")
    assert summary_of(found) == "GPU 0 is lost"


# -- nan -------------------------------------------------------------------------------------


def test_nan_losses(tmp_path: Path) -> None:
    """Three losses in a row that are not finite raise a warning."""
    found = Watched(tmp_path, progress=losses(2.3, 2.1, "nan", "nan", "inf")).judged("nan")
    assert summary_of(found) == "losses not finite (from step 3 on)"


@pytest.mark.parametrize(
    "values",
    [(2.3, 2.1, "nan", 2.0, 1.9), (2.3, "nan", "nan", 2.0, "nan"), (2.3, 2.2, 2.1), (2.3, "nan")],
    ids=["one step", "now and then", "none", "the last one"],
)
def test_nan_of_single_steps(values: tuple[float | str, ...], tmp_path: Path) -> None:
    """A single loss that is not finite raises no warning."""
    assert Watched(tmp_path, progress=losses(*values)).judged("nan") is NOT_DETECTED


def overflows(count: int) -> Any:
    """Return the progress of a training whose gradients overflow so often."""
    line = "{{'loss': 2.{0}, 'grad_norm': nan, 'learning_rate': 1e-05, 'epoch': 0.{0}}}\n"
    good = "{'loss': 2.4, 'grad_norm': 1.5, 'learning_rate': 1e-05, 'epoch': 0.001}\n"
    return parse(good * 3 + "".join(line.format(1000 + step) for step in range(count)))


def test_search_for_a_loss_scale(tmp_path: Path) -> None:
    """A mixed-precision training whose first gradients overflow raises no warning."""
    assert Watched(tmp_path, progress=overflows(16)).judged("nan") is NOT_DETECTED


def test_gradients_not_finite_for_long(tmp_path: Path) -> None:
    """Gradients that never become finite raise a warning, even with good losses."""
    found = Watched(tmp_path, progress=overflows(60)).judged("nan")
    assert (summary_of(found) or "").startswith("gradients not finite")


def test_nothing_read_of_the_training(tmp_path: Path) -> None:
    """Without losses the result is unknown."""
    assert Watched(tmp_path).judged("nan") is None
    assert warning_kinds()["nan"].PREDICTS


# -- throttling ------------------------------------------------------------------------------


def slowed(share: float, since_s: float, name: str) -> Curves:
    """Return a GPU that was slowed down for a share of the time, from so long ago on."""

    def rising(age_s: float) -> float:
        return max(0.0, since_s - age_s) * share * 1e9

    return {**used_gpu(), ("gpu:0", name): rising}


@pytest.mark.parametrize(
    ("name", "by"),
    [("throttled_hw_thermal_ns_total", "heat"), ("throttled_hw_power_brake_ns_total", "power")],
)
def test_throttling(name: str, by: str, tmp_path: Path) -> None:
    """A slowdown by heat or power for most of ten minutes raises a warning, by the counters."""
    found = Watched(tmp_path, slowed(0.9, 15 * MINUTE_S, name)).judged("throttling")
    assert summary_of(found) == f"GPU 0 slowed down by {by}"


def test_throttling_by_looks(tmp_path: Path) -> None:
    """On a card without counters the flags of the samples raise it."""
    curves = used_gpu(hw_thermal_slowdown=until(12 * MINUTE_S, 0.0, 1.0))
    assert summary_of(Watched(tmp_path, curves).judged("throttling")) == "GPU 0 slowed down by heat"


@pytest.mark.parametrize(
    "curves",
    [
        slowed(1.0, 2 * MINUTE_S, "throttled_hw_thermal_ns_total"),
        slowed(0.3, 40 * MINUTE_S, "throttled_hw_thermal_ns_total"),
        {**slowed(1.0, 40 * MINUTE_S, "throttled_power_ns_total"), **used_gpu(hw_slowdown=0.0)},
    ],
    ids=["two minutes", "now and then", "power cap"],
)
def test_no_throttling(curves: Curves, tmp_path: Path) -> None:
    """A short slowdown, a third of the time, or a power cap raises no warning."""
    found = Watched(tmp_path, curves).judged("throttling")
    assert not summary_of(found)


# -- gpu_idle --------------------------------------------------------------------------------


def test_gpus_idle(tmp_path: Path) -> None:
    """All GPUs of the run are idle for twelve minutes after they worked: a warning."""
    load = until(12 * MINUTE_S, 95.0, 0.0)
    curves = {
        **used_gpu(0, utilization_percent=load),
        **used_gpu(3, utilization_percent=load),
        ("gpu:5", "utilization_percent"): 90.0,
        ("gpu:5", "memory_used_bytes"): 0.0,
    }
    assert summary_of(Watched(tmp_path, curves).judged("gpu_idle")) == "GPUs 0, 3 idle"


@pytest.mark.parametrize(
    ("load", "held"),
    [
        (until(4 * MINUTE_S, 95.0, 0.0), 60.0),
        (0.0, 60.0),
        (until(12 * MINUTE_S, 95.0, 40.0), 60.0),
        (until(12 * MINUTE_S, 95.0, 0.0), until(10 * MINUTE_S, 60.0, 0.0)),
        (lambda age_s: 95.0 if not 8 < age_s < 1200 else 0.0, 60.0),
    ],
    ids=["a checkpoint", "never used", "slower", "given back", "at work again"],
)
def test_gpus_not_idle(load: Any, held: Any, tmp_path: Path) -> None:
    """GPUs that are idle for minutes, from the start, without memory, or no longer: no warning."""
    memory = (lambda age_s: held(age_s) * GIB) if callable(held) else held * GIB
    curves = used_gpu(utilization_percent=load, memory_used_bytes=memory)
    assert Watched(tmp_path, curves).judged("gpu_idle") is NOT_DETECTED


def test_one_gpu_at_work(tmp_path: Path) -> None:
    """If one of them works, there is no warning."""
    curves = {**used_gpu(0, utilization_percent=until(1200, 95.0, 0.0)), **used_gpu(1)}
    assert Watched(tmp_path, curves).judged("gpu_idle") is NOT_DETECTED


# -- gpu_unused ------------------------------------------------------------------------------

HOUR_S = 3600.0


def test_gpus_unused(tmp_path: Path) -> None:
    """GPUs that are held for two hours without a kernel raise a warning, each by itself."""
    curves = {
        **used_gpu(0, utilization_percent=0.0),
        **used_gpu(1),
        **used_gpu(2, utilization_percent=until(2.1 * HOUR_S, 95.0, 0.0)),
    }
    found = Watched(tmp_path, curves, seconds=2.5 * HOUR_S).judged("gpu_unused")
    assert summary_of(found) == "GPUs 0, 2 unused"


@pytest.mark.parametrize(
    ("hours", "load", "held"),
    [
        (1.9, 0.0, 60.0),
        (2.5, until(1.9 * HOUR_S, 95.0, 0.0), 60.0),
        (2.5, lambda age_s: 50.0 * (HOUR_S < age_s < 1.1 * HOUR_S), 60.0),
        (2.5, 0.0, until(1.9 * HOUR_S, 0.0, 60.0)),
        (2.5, 0.0, until(60.0, 60.0, 0.0)),
    ],
    ids=["young", "worked lately", "worked once", "held lately", "released"],
)
def test_gpus_not_unused(hours: float, load: Any, held: Any, tmp_path: Path) -> None:
    """Less than two hours, work within them, and memory that was not held all the time: none."""
    memory = (lambda age_s: held(age_s) * GIB) if callable(held) else held * GIB
    curves = used_gpu(utilization_percent=load, memory_used_bytes=memory)
    found = Watched(tmp_path, curves, seconds=hours * HOUR_S).judged("gpu_unused")
    assert found is NOT_DETECTED


def test_unused_without_gpus(tmp_path: Path) -> None:
    """Without a GPU nothing is known of unused ones."""
    assert Watched(tmp_path, processes(1.0)).judged("gpu_unused") is None


# -- log_silent ------------------------------------------------------------------------------


SPINNING: Curves = {**used_gpu(utilization_percent=100.0), **processes(1.0)}
"""Return a run with busy GPUs: its ranks wait for a lost one, or train."""


def dead(ago_s: float) -> Curves:
    """Return a run whose processes and GPUs have been idle for so long."""
    gpu = used_gpu(utilization_percent=until(ago_s, 95.0, 0.0))
    return {**gpu, **processes(until(ago_s, 1.0, 0.0))}


@pytest.mark.parametrize(
    ("curves", "silent_s", "timing"),
    [
        (dead(125), 140, OFTEN),
        (dead(720), 700, OutputTiming(3, 20.0)),
        (SPINNING, 700, OFTEN),
    ],
    ids=["nothing works", "it had hardly begun", "ranks that wait"],
)
def test_silence(curves: Curves, silent_s: float, timing: OutputTiming, tmp_path: Path) -> None:
    """Silence for much longer than before raises a warning; later if something works."""
    watched = Watched(tmp_path, curves, silent_s=silent_s, timing=timing)
    assert summary_of(watched.judged("log_silent")) == "nothing printed"


@pytest.mark.parametrize(
    ("silent_s", "timing"),
    [
        (110, OFTEN),
        (300, OFTEN),
        (900, OutputTiming(500, 200.0)),
        (3000, OutputTiming(4, 30.0)),
        (3000, None),
    ],
    ids=["pause", "evaluation", "as ever", "prints nothing", "not watched"],
)
def test_no_silence(silent_s: float, timing: OutputTiming | None, tmp_path: Path) -> None:
    """A working training with its usual pauses, or with little output, raises no warning."""
    watched = Watched(tmp_path, SPINNING, silent_s=silent_s, timing=timing)
    assert not summary_of(watched.judged("log_silent"))


# -- rendezvous_wait ---------------------------------------------------------------------------

NODE_0 = CoordinatorState(
    "node-0", 29500, TrialOutcome.REFUSED, named_by="MASTER_ADDR", addresses=("10.0.0.1",),
    world_size=16, nodes=2, node_rank=1, ranks=(8,),
)  # fmt: skip
HERE = replace(
    NODE_0, outcome=TrialOutcome.IS_HERE, listens=True, node_rank=0, ranks=(0,), hosts=("",)
)
ALONE = replace(HERE, host="127.0.0.1", is_loopback=True, nodes=1, world_size=4, ranks=(0, 1))
FRAMES = {
    "rendezvous": StackFrame("_create_c10d_store", "/lib/torch/distributed/rendezvous.py", 200),
    "load": StackFrame("_load", "/lib/torch/serialization.py", 1500),
}


def meeting(
    tmp_path: Path,
    state: CoordinatorState,
    waited_s: float,
    *,
    attempts: int = 1,
    place: str = "",
    trained_ago_s: float = 0.0,
) -> Detection | None:
    """Return the detection of a run that waited so long, with its stacks at a place."""
    fields = to_builtins(state)
    seen = SourceEvent("rendezvous_state", "rendezvous", state.describe(), fields)
    began = SourceEvent("training_began", "rendezvous", "it trains")
    events = [("rendezvous", waited_s - 5.0, seen)]
    events += [("rendezvous", trained_ago_s, began)] if trained_ago_s else []
    curves: Curves = {
        ("rendezvous", "waiting_seconds"): lambda age_s: max(0.0, waited_s - age_s),
        ("rendezvous", "attempts_total"): float(attempts),
    }
    wait = Wait(WaitKind.SOCKET, "waits for a socket")
    places = {8: ((FRAMES[place], own("main", 9)), wait)} if place else {}
    stacks = (make_dump(places, at=time.time() - 10.0),) if place else ()
    return Watched(tmp_path, curves, events=events, stacks=stacks).judged("rendezvous_wait")


@pytest.mark.parametrize(
    ("state", "waited_s", "summary"),
    [
        (NODE_0, 310, "no process at the coordinator's address node-0:29500"),
        (replace(NODE_0, outcome=TrialOutcome.UNKNOWN_NAME, addresses=()), 400,
         "name node-0 of the coordinator unknown"),
        (replace(NODE_0, outcome=TrialOutcome.NO_ANSWER), 310,
         "no answer from the coordinator node-0:29500"),
        (HERE, 310, "nodes missing (1 of 2 connected)"),
        (ALONE, 130, "ranks missing (2 of 4 started)"),
        (replace(ALONE, repeated=(0,)), 130, "rank 0 started more than once"),
        (replace(HERE, host="127.0.1.1", is_loopback=True), 130,
         "coordinator 127.0.1.1 resolved to a local address"),
    ],
)  # fmt: skip
def test_waits_for_its_peers(
    state: CoordinatorState, waited_s: float, summary: str, tmp_path: Path
) -> None:
    """A run that waits for minutes raises a warning with the obstacle, and advice for it."""
    found = meeting(tmp_path, state, waited_s)
    assert summary_of(found) == f"waiting to start: {summary}"
    assert found is not None
    assert len(found.do) == 1 + len(warning_kinds()["rendezvous_wait"].DO)
    assert not any("{" in line for line in found.do)


def test_stacks_show_the_wait(tmp_path: Path) -> None:
    """Without a line in the log, a stack in the rendezvous shows that it has come so far."""
    found = meeting(tmp_path, NODE_0, 310, attempts=0, place="rendezvous")
    assert summary_of(found)


@pytest.mark.parametrize(
    ("state", "waited_s", "more"),
    [
        (HERE, 240, {}),
        (NODE_0, 240, {}),
        (NODE_0, 900, {"place": "load"}),
        (NODE_0, 900, {"attempts": 0}),
        (NODE_0, 900, {"trained_ago_s": 10.0}),
        (replace(HERE, hosts=("", "10.0.0.2")), 900, {}),
        (replace(NODE_0, outcome=TrialOutcome.ANSWERED), 900, {}),
        (replace(NODE_0, outcome=TrialOutcome.UNTRIED), 900, {}),
        (replace(HERE, listens=False), 900, {"attempts": 0}),
        (replace(ALONE, ranks=(0, 1, 2, 3)), 900, {}),
        (ALONE, 60, {}),
        (NODE_0, 0, {}),
    ],
    ids=[
        "nodes that come late", "coordinator that comes late", "loads a model", "silent import",
        "trains", "complete", "answers", "not tried", "rank 0 still loads", "complete machine",
        "ranks that start", "computes",
    ],
)  # fmt: skip
def test_starts_slowly(
    state: CoordinatorState, waited_s: float, more: dict[str, Any], tmp_path: Path
) -> None:
    """A start that is only slow, nodes that come minutes later, or a complete group: no warning."""
    assert not summary_of(meeting(tmp_path, state, waited_s, **more))


# -- disk_filling ----------------------------------------------------------------------------


def disk(free: Any, size: float = 1000.0, of: str = "disk:log") -> Curves:
    """Return a disk with so many GiB free."""
    scaled = (lambda age_s: free(age_s) * GIB) if callable(free) else free * GIB
    return {(of, "free_bytes"): scaled, (of, "size_bytes"): size * GIB}


PLACES = {"disk": {"disk:log": {"path": "/scratch/runs"}, "disk:cwd": {"path": "/home/me"}}}


def test_disk_that_fills(tmp_path: Path) -> None:
    """A disk that loses space steadily and is full within half an hour raises a warning."""
    curves = disk(lambda age_s: 20.0 + age_s / 60.0)
    found = Watched(tmp_path, curves, facts=PLACES).judged("disk_filling")
    assert summary_of(found) == "the disk of /scratch/runs filling up"


@pytest.mark.parametrize(
    "curves",
    [disk(0.5), disk(0.2, size=3.0), {**disk(500.0), **disk(0.1, of="disk:cwd")}],
    ids=["large", "small", "working directory"],
)
def test_disk_that_is_full(curves: Curves, tmp_path: Path) -> None:
    """A disk with almost no space left raises a warning."""
    assert "full" in (
        summary_of(Watched(tmp_path, curves, facts=PLACES).judged("disk_filling")) or ""
    )


@pytest.mark.parametrize(
    "curves",
    [
        disk(until(90, 60.0, 10.0)),
        disk(lambda age_s: 400.0 + age_s / 60.0),
        disk(lambda age_s: 10.0 + (age_s % 60.0) / 10.0),
        disk(5.0),
        disk(4000.0, size=500_000.0),
        {("disk:shm", "free_bytes"): 0.0, ("disk:shm", "size_bytes"): GIB, **disk(50.0)},
    ],
    ids=["checkpoint", "far away", "up and down", "little and steady", "huge", "shared memory"],
)
def test_disk_that_does_not_fill(curves: Curves, tmp_path: Path) -> None:
    """One checkpoint, a slow trend, or temporary files raise no warning."""
    assert Watched(tmp_path, curves, facts=PLACES).judged("disk_filling") is NOT_DETECTED


# -- memory_near_limit -----------------------------------------------------------------------


def memory(left: Any, limit: float, host: float = 200.0) -> Curves:
    """Return a cgroup with so many GiB left, on a host of 256 GiB."""
    scaled = (lambda age_s: left(age_s) * GIB) if callable(left) else left * GIB
    return {
        ("cgroup", "memory_left_bytes"): scaled,
        ("cgroup", "memory_left_of_bytes"): limit * GIB,
        ("host", "memory_available_bytes"): host * GIB,
        ("host", "memory_total_bytes"): 256.0 * GIB,
        **processes(1.0),
    }


@pytest.mark.parametrize(
    ("curves", "place"),
    [(memory(1.0, 64.0), "its cgroup"), (memory(30.0, 64.0, host=2.0), "the host")],
    ids=["cgroup", "host"],
)
def test_memory_nearly_used_up(curves: Curves, place: str, tmp_path: Path) -> None:
    """Almost no memory left below the limit, or on the host, raises a warning."""
    found = Watched(tmp_path, curves).judged("memory_near_limit")
    assert summary_of(found) == f"memory of {place} nearly used up"


@pytest.mark.parametrize(
    "curves",
    [memory(6.0, 64.0), memory(until(7, 30.0, 1.0), 64.0), memory(10.0, 1000.0), used_gpu()],
    ids=["tenth", "peak", "large", "nobody looked"],
)
def test_memory_that_is_left(curves: Curves, tmp_path: Path) -> None:
    """A tenth left, a short peak, or gigabytes of a terabyte raise no warning."""
    assert not summary_of(Watched(tmp_path, curves).judged("memory_near_limit"))


@pytest.mark.parametrize("kind", warning_kinds())
def test_full_gpu_memory(kind: str, tmp_path: Path) -> None:
    """Allocators keep their memory: a full GPU raises no warning."""
    curves = {**used_gpu(memory_used_bytes=79.5 * GIB), **memory(30.0, 64.0)}
    assert not summary_of(Watched(tmp_path, curves).judged(kind))


# -- all -------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", warning_kinds())
def test_kinds_have_advice(kind: str) -> None:
    """Each kind has advice, and names only existing kinds and causes."""
    found = warning_kinds()[kind]
    assert found.DO
    assert set(warning_kinds()) >= found.FOLLOWS
    assert set(CAUSES) >= found.PREDICTS


@pytest.mark.parametrize("kind", warning_kinds())
def test_nothing_seen(kind: str, tmp_path: Path) -> None:
    """Without any evidence no kind raises a warning."""
    assert not summary_of(Watched(tmp_path, seconds=0.0).judged(kind))
