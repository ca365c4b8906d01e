"""A scene as a real run: a child under the real observer, which sees the evidence of the scene.

The child prints the log of the scene over the seconds of the run and ends as the scene does: by a
status, a signal, or our time limit.  The stand-in for NVML plays the curves of its GPUs.  Lines of
the kernel are written into the real log, under a facility that only this run reads.  Files,
variables and command are real, and so are the cgroup and the processes.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import cycle
from pathlib import Path
from typing import Any

from gpualert_common.telemetry.cgroups import find_cgroups
from gpualert_common.telemetry.source import SourceEvent
from tests.scenarios.scene import PID, Card, Curve, Scene, pci
from tests.supervised import DEADLINE_S, PROGRAM, Lab, until
from tests.telemetry.host import limited_group
from tests.telemetry.standin import Curve as Played
from tests.telemetry.standin import (
    Gpu,
    GpuEvent,
    Key,
    Process,
    Scenario,
    Value,
    environment,
    gpu,
    line,
)

KMSG = "/dev/kmsg"
FACILITIES = cycle(range(16, 256))
"""Not used by any daemon; the kernel stores one byte.  Each run has the next one."""
GRACE = "1s"
CURVE_POINTS = OUTPUT_PARTS = 60
STOPPED_AFTER_S = 60
"""A child that is to be stopped would end by itself after so long."""
FIELDS = {
    "ecc_uncorrected_total": 4,
    "remapped_rows_uncorrected_total": 143,
    "throttled_power_ns_total": 74,
    "throttled_sw_thermal_ns_total": 269,
    "throttled_hw_thermal_ns_total": 270,
    "throttled_hw_power_brake_ns_total": 271,
}
"""Numbers of the counters in NVML."""
SM_ACTIVITY = 2
"""The number of the metric in GPM."""
CHILD = """
import glob, json, os, signal, sys, time
plan = json.load(open("plan.json"))
code = plan["code"]
def end(*_):
    if code >= 0:
        os._exit(code)
    if code != -9:
        signal.signal(-code, signal.SIG_DFL)
    os.kill(os.getpid(), -code)
if plan["is_stopped"]:
    stops = signal.SIG_IGN if code == -9 else end
    signal.signal(signal.SIGTERM, stops)
    signal.signal(signal.SIGINT, stops)
group = os.path.exists("group") and open("group").read()
if group:
    open(f"{group}/cgroup.procs", "w").write(str(os.getpid()))
os.utime("clock")
with open("pid.new", "w") as file:
    file.write(str(os.getpid()))
os.rename("pid.new", "pid")
began = time.monotonic()
def wait(at_s):
    time.sleep(max(0.0, began + at_s - time.monotonic()))
for at_s, text in plan["output"]:
    wait(at_s)
    sys.stdout.write(text)
    sys.stdout.flush()
open("printed", "w").write("all")
def is_sampled(source):
    files = glob.glob(plan["telemetry"])
    return any(f'"{source}"' in open(path).read() for path in files)
while not all(map(is_sampled, plan["awaited"])):
    time.sleep(0.02)
while not os.path.exists("happened"):
    time.sleep(0.02)
wait(plan["end_s"])
held = []
while group:
    held.append(b"x" * (1 << 20))
end()
"""


def is_playable(scene: Scene) -> bool:
    """Return whether a real run can have the evidence of this scene."""
    unusual = (scene.earlier, scene.host, set(scene.missing) - {"nvml"}, scene.given)
    readable = {"nvml", "kernel_log", *(("cgroup",) if scene.memory_limit_mib else ())}
    from_others = {source for source, _at, _event in scene.events} - readable
    has_clocks = not any(card.gauges for card in scene.cards)
    return not any(unusual) and not from_others and has_clocks


def play(scene: Scene, lab: Lab, awaited: Sequence[str] = ()) -> dict[str, Any]:
    """Return the verdict on a real run of that scene.

    The child does not end before the telemetry has a first sample of the *awaited* sources.
    """
    facility = next(FACILITIES)
    (lab.home / "tmp").mkdir(parents=True, exist_ok=True)
    command = _prepare_files(scene, lab, awaited)
    variables = {**os.environ, **lab.environment(), **scene.variables, "GPUALERT_OBSERVE": "true"}
    variables["GPUALERT_TEST_KMSG_FACILITY"] = str(facility)
    if "nvml" not in scene.missing and scene.cards:
        variables |= environment(_make_machine(scene, lab.home), lab.home / "machine")
    limit = ("--timeout", f"{scene.seconds:.1f}s") if scene.limit else ()
    options = ("--quiet", "--grace", GRACE, *limit)
    program = (*PROGRAM, "run", *options, "--", *command)
    with _limited_group(scene, lab.home):
        return _follow(scene, lab, program, variables, facility)


@contextmanager
def _limited_group(scene: Scene, home: Path) -> Iterator[None]:
    """Create the cgroup with the limit of the scene, which the child enters; none without a
    limit."""
    if scene.memory_limit_mib is None:
        yield
        return
    with limited_group(scene.memory_limit_mib << 20) as group:
        (home / "group").write_text(str(group))
        yield


def _follow(
    scene: Scene, lab: Lab, program: tuple[str, ...], variables: dict[str, str], facility: int
) -> dict[str, Any]:
    """Start the run, let happen to it what the scene has, and return the verdict."""
    process = lab.start(program, env=variables, stdout=subprocess.DEVNULL)
    pid = until(lambda: _read(lab.home / "pid"), "the child")
    _write_kernel_lines(scene, int(pid), facility)
    (lab.home / "happened").touch()  # the kernel writes its line before the process is gone
    if _is_stopped(scene):
        until(lambda: _read(lab.home / "printed"), "the output", scene.seconds + DEADLINE_S)
        process.send_signal(scene.signal or 0)
    process.wait(scene.seconds + 2 * DEADLINE_S)
    verdict = lab.record().read_json("verdict.json")
    assert verdict is not None
    return dict(verdict)


def _is_stopped(scene: Scene) -> bool:
    """Return whether a process stops the run from outside, not our time limit."""
    return bool(scene.signal) and not scene.limit


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except FileNotFoundError:
        return ""


def _prepare_files(scene: Scene, lab: Lab, awaited: Sequence[str]) -> tuple[str, ...]:
    """Write the program, its plan, and the checkpoints of before; return the command."""
    home = lab.home
    (home / "clock").touch()
    is_ended = _is_stopped(scene) or scene.limit
    plan = {
        "output": list(_split_output(scene)),
        "end_s": scene.seconds + (STOPPED_AFTER_S if is_ended else 0),
        "code": scene.code,
        "is_stopped": bool(is_ended),
        "awaited": list(awaited),
        "telemetry": str(lab.state / "runs" / "*" / "telemetry.jsonl"),
    }
    (home / "plan.json").write_text(json.dumps(plan))
    named = scene.checkpoints.get("named", {})
    for path, exists in named.items():
        if exists:
            _write_old(home / path.lstrip("/"))
    for before in scene.checkpoints.get("before", ()):
        _write_old(home / before["path"] / "state.pt")
    text = shlex.join(scene.command).replace("python ", f"{sys.executable} ")
    for path in named:
        if path.startswith("/"):
            text = text.replace(path, str(home / path.lstrip("/")))
    words = shlex.split(text)
    script = next(word for word in shlex.split(" ".join(words)) if word.endswith(".py"))
    (home / script).parent.mkdir(parents=True, exist_ok=True)
    (home / script).write_text(CHILD)
    return tuple(words)


def _write_old(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"state")
    for one in (path, path.parent):
        os.utime(one, (1.7e9, 1.7e9))


def _split_output(scene: Scene) -> Iterator[tuple[float, str]]:
    """Yield the second and the text of each part of the output."""
    lines = scene.log.splitlines(keepends=True)
    until_s = max(0.0, scene.seconds - scene.silent_s)
    printed = scene.printed or (lambda part: min(1.0, part * scene.seconds / max(until_s, 1e-9)))
    done = 0
    for at in range(OUTPUT_PARTS + 1):
        part = at / OUTPUT_PARTS
        upto = round(len(lines) * printed(part))
        if upto > done:
            yield min(part * scene.seconds, until_s), "".join(lines[done:upto])
            done = upto
    yield until_s, "".join(lines[done:])


def _make_machine(scene: Scene, home: Path) -> Scenario:
    gpus = tuple(_make_gpu(card, index, scene, home) for index, card in enumerate(scene.cards))
    return Scenario(gpus, clock=home / "clock")


def _make_gpu(card: Card, index: int, scene: Scene, home: Path) -> Gpu:
    def curve(value: Curve, scale: float = 1) -> Played:
        parts = [at / CURVE_POINTS for at in range(CURVE_POINTS + 1)]
        return line(*((part * scene.seconds, value(part) * scale) for part in parts))

    events = [event for source, _at, event in scene.events if source == "nvml"]
    times = [at * scene.seconds for source, at, _event in scene.events if source == "nvml"]
    mine = [(at, event) for at, event in zip(times, events, strict=True) if _is_of(event, index)]
    used = (Process(home / "pid", curve(card.memory, card.total_bytes)),) if card.used else ()
    others = (Process(1, card.others_bytes),) if card.others_bytes else ()
    counters: dict[Key, Value] = {
        FIELDS[name]: curve(value) for name, value in card.counters.items()
    }
    return replace(
        gpu(index),
        pci=f"0000{pci(index).upper()}.0",
        memory_total=card.total_bytes,
        memory_used=curve(lambda part: card.memory(part) * card.total_bytes + card.others_bytes),
        utilization_gpu=curve(card.load),
        sm_clock=curve(card.clock),
        fields={**gpu(index).fields, **counters},
        activity={**gpu(index).activity, SM_ACTIVITY: curve(card.load)},
        processes=(*used, *others),
        events=tuple(
            GpuEvent(at, event.fields["xid"]) for at, event in mine if event.what == "xid"
        ),
        lost_at_s=next((at for at, event in mine if event.what == "gpu_lost"), None),
    )


def _is_of(event: SourceEvent, index: int) -> bool:
    return event.of == f"gpu:{index}"


def _write_kernel_lines(scene: Scene, pid: int, facility: int) -> None:
    """Write the messages of the kernel at their times, with the process and the cgroup of this
    run."""
    began = time.monotonic()
    cgroup = find_cgroups(pid)
    group = cgroup.get("memory", cgroup.get(""))
    place = group.path if group else "/"
    for source, at, event in sorted(scene.events, key=lambda one: one[1]):
        if source != "kernel_log" or (event.what == "oom_kill" and scene.memory_limit_mib):
            continue
        time.sleep(max(0.0, began + at * scene.seconds - time.monotonic()))
        for text in _format_lines(event, pid, place, scene.memory_cgroup):
            Path(KMSG).write_text(f"<{facility * 8 + 4}>{text}\n")


def _format_lines(event: SourceEvent, pid: int, place: str, of_scene: str) -> Iterator[str]:
    if event.what != "oom_kill":
        yield event.text
        return
    fields = event.fields
    killed = pid if fields["pid"] == PID else fields["pid"] + 2**22  # no process has that number
    is_limit = fields["limit_kind"] == "cgroup"
    names = [fields.get(name, "/") for name in ("oom_memcg", "task_memcg")]
    oom, task = (place if name == of_scene else name for name in names)
    begin = "oom-kill:constraint={},nodemask=(null),cpuset=/,mems_allowed=0,"
    kind = f"oom_memcg={oom}" if is_limit else "global_oom"
    yield (
        f"{begin.format('CONSTRAINT_MEMCG' if is_limit else 'CONSTRAINT_NONE')}{kind},"
        f"task_memcg={task},task={fields['process']},pid={killed},uid=0"
    )
    head = "Memory cgroup out of memory" if is_limit else "Out of memory"
    yield (
        f"{head}: Killed process {killed} ({fields['process']}) total-vm:900000kB, "
        "anon-rss:204800kB, file-rss:1024kB, shmem-rss:0kB, UID:0 pgtables:320kB oom_score_adj:0"
    )
