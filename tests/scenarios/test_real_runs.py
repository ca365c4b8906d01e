"""Real children with a real sampler, where a stand-in library simulates the GPUs."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gpualert_common.record import Record
from tests.supervised import Lab, python
from tests.telemetry.standin import GpuEvent, Process, Scenario, environment, gpu, steps

HELD = 60 << 30
FAULT = 79
"""GPU fallen off the bus."""
OF_THE_PROGRAM = 31
"""A page fault, which a program causes."""

ECC_UNCORRECTED_FIELD = 4
"""The number of the counter in NVML."""

CUDA_ERROR = "torch.AcceleratorError: CUDA error: an illegal memory access was encountered"


def trains(lab: Lab, seconds: float, message: str, code: int) -> tuple[str, ...]:
    """Program that prints its process number, works for a while and ends."""
    return python(
        "import os, sys, time\n"
        f"open({str(lab.home / 'pid')!r}, 'w').write(str(os.getpid()))\n"
        f"end = time.monotonic() + {seconds}\n"
        "step = 0\n"
        "while time.monotonic() < end:\n"
        "    step += 1\n"
        "    print(f'step {step} loss {5 / step:.3f}', flush=True)\n"
        "    time.sleep(0.2)\n"
        f"print({message!r}, file=sys.stderr)\n"
        f"sys.exit({code})\n"
    )


def run(lab: Lab, scenario: Scenario | None, *command: str) -> dict[str, Any]:
    """Return the verdict on the run on that machine."""
    variables = {**os.environ, **lab.environment(), "GPUALERT_OBSERVE": "true"}
    if scenario is not None:
        variables |= environment(scenario, lab.home / "machine")
    lab.gpualert("run", "--", *command, env=variables)
    (path,) = lab.records()
    verdict = Record.open(str(path)).read_json("verdict.json")
    assert verdict is not None
    return verdict


def used(lab: Lab, index: int, **more: Any) -> Any:
    """Return a GPU that the training uses."""
    process = Process(lab.home / "pid", HELD)
    return replace(gpu(index), processes=(process,), memory_used=HELD, utilization_gpu=97, **more)


def test_fault_of_its_gpu(lab: Lab) -> None:
    """A hardware Xid on the GPU of the run is the cause of its CUDA error."""
    faulty = used(lab, 0, events=(GpuEvent(4.0, FAULT),))
    verdict = run(lab, Scenario((faulty, gpu(1))), *trains(lab, 9, CUDA_ERROR, 1))
    assert (verdict["cause"], verdict["attribution"]) == ("gpu_hardware", "infrastructure")
    assert any(claim["source"] == "nvml" for claim in verdict["shows"])
    assert verdict["secondary"][0]["cause"] == "cuda_runtime"


@pytest.mark.parametrize("kind", ["of the program", "of a stranger", "none"])
def test_no_fault_of_its_gpu(kind: str, lab: Lab) -> None:
    """Without an Xid, or with one of the program or of another GPU, the job is the cause."""
    mine = GpuEvent(4.0, OF_THE_PROGRAM)
    others = replace(gpu(1), events=(GpuEvent(4.0, FAULT),) if kind == "of a stranger" else ())
    first = used(lab, 0, events=(mine,) if kind == "of the program" else ())
    verdict = run(lab, Scenario((first, others)), *trains(lab, 9, CUDA_ERROR, 1))
    assert (verdict["cause"], verdict["attribution"]) == ("cuda_runtime", "job")
    assert "B2" in [one["family"] for one in verdict["ruled_out"]]


@pytest.mark.e2e
def test_lost_gpu(lab: Lab) -> None:
    """A lost GPU is the cause, also without an Xid."""
    machine = Scenario((used(lab, 0, lost_at_s=8.0), used(lab, 1)))
    verdict = run(lab, machine, *trains(lab, 20, CUDA_ERROR, 1))
    assert verdict["cause"] == "gpu_hardware"


WAITS = """
import glob, os, sys, time
samples = os.path.join({state!r}, "runs", "*", "telemetry.jsonl")
def has_sample():
    return any('"gpu:0"' in open(path).read() for path in glob.glob(samples))
while not has_sample():
    time.sleep(0.02)
"""
"""Start of a program that does nothing before the first sample of its GPU."""
FAILS = f"""
print({CUDA_ERROR!r}, file=sys.stderr)
sys.exit(1)
"""


def test_early_fault(lab: Lab) -> None:
    """A counter that rises within seconds after the launch is a fault of the run: its first sample
    is from before that."""
    clock = lab.home / "clock"
    clock.touch()
    os.utime(clock, (0, 0))
    errors = {**gpu(0).fields, ECC_UNCORRECTED_FIELD: steps((0, 2), (2e9, 3))}
    machine = Scenario((used(lab, 0, fields=errors),), clock=clock)
    body = f"os.utime({str(clock)!r}, (time.time() - 3e9,) * 2)\n"
    program = python(WAITS.format(state=str(lab.state)) + _holds(lab) + body + FAILS)
    verdict = run(lab, machine, *program)
    assert (verdict["cause"], verdict["attribution"]) == ("gpu_hardware", "infrastructure")


def test_fault_before_the_run(lab: Lab) -> None:
    """A counter that was above zero before the run used the GPU is no fault of the run."""
    errors = {**gpu(0).fields, ECC_UNCORRECTED_FIELD: 2}
    program = python(WAITS.format(state=str(lab.state)) + _holds(lab) + FAILS)
    verdict = run(lab, Scenario((used(lab, 0, fields=errors),)), *program)
    assert verdict["cause"] == "cuda_runtime"
    assert "latent_fault" in [one["kind"] for one in verdict["warnings"]]


def test_lost_early(lab: Lab) -> None:
    """A GPU that is lost in a run of seconds explains its CUDA error, with less confidence where
    no sample shows that the run used it."""
    machine = Scenario(
        (replace(gpu(0), memory_used=0, lost_at_s=1.0), replace(gpu(1), memory_used=0))
    )
    program = python("import sys, time\ntime.sleep(3)\n" + FAILS)
    verdict = run(lab, machine, *program)
    assert (verdict["cause"], verdict["confidence"]) == ("gpu_hardware", 0.8)
    assert "whether that GPU was one of the run's" in verdict["cannot_decide"]


def _holds(lab: Lab) -> str:
    """Return the line by which a program holds memory of the GPUs that name its file."""
    return f"open({str(lab.home / 'pid')!r}, 'w').write(str(os.getpid()))\n"


def test_without_a_library(lab: Lab) -> None:
    """Without NVML the verdict relies on the log and names the missing evidence."""
    verdict = run(lab, None, *trains(lab, 3, CUDA_ERROR, 1))
    assert verdict["cause"] == "cuda_runtime"
    assert "B2" not in [one["family"] for one in verdict["ruled_out"]]
    (nvml,) = [one for one in verdict["sources"] if one["name"] == "nvml"]
    assert not nvml["available"]


def test_good_run_on_a_bad_day(lab: Lab) -> None:
    """A fault that the run survived is a warning, not a failure."""
    faulty = used(lab, 0, events=(GpuEvent(4.0, FAULT),))
    verdict = run(lab, Scenario((faulty,)), *trains(lab, 9, "done", 0))
    assert verdict["cause"] == "none"
    assert "gpu_fault" in [one["kind"] for one in verdict["warnings"]]


def test_everything_is_missing(lab: Lab, tmp_path: Path) -> None:
    """A broken library removes only its own evidence from the verdict."""
    broken = tmp_path / "lib"
    broken.mkdir()
    (broken / "libnvidia-ml.so.1").write_bytes(b"\x7fELF, not really")
    variables = {**os.environ, **lab.environment(), "GPUALERT_OBSERVE": "true"}
    variables["LD_LIBRARY_PATH"] = str(broken)
    lab.gpualert("run", "--", *trains(lab, 3, "done", 4), env=variables)
    (path,) = lab.records()
    verdict = Record.open(str(path)).read_json("verdict.json")
    assert verdict is not None
    assert verdict["exit_code"] == 4
