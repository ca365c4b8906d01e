"""A real child of each family under the real supervisor, with the decisive evidence."""

from __future__ import annotations

import os
import shlex
import signal
from dataclasses import replace
from typing import Any

import pytest

from gpualert_common.record import Record
from tests.scenarios.test_real_runs import run, used
from tests.supervised import PROGRAM, Lab, python, until
from tests.telemetry.standin import Scenario, gpu, line

GIB = 1 << 30
CUDA_OOM = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 9.00 GiB. GPU 0 has a total "
    "capacity of 79.65 GiB of which 1.20 GiB is free."
)


def program(lab: Lab, body: str) -> tuple[str, ...]:
    """Return a training that prints its process number; ``step(n, loss)`` prints one step."""
    return python(
        "import os, sys, time\n"
        f"open({str(lab.home / 'pid')!r}, 'w').write(str(os.getpid()))\n"
        "def step(number, loss): print(f'step {number}: loss {loss:.4f}', flush=True)\n" + body
    )


def test_died_before_it_trained(lab: Lab) -> None:
    """A1: no step, and no GPU held memory of the run."""
    body = "time.sleep(2)\nimport a_module_that_nobody_has\n"
    verdict = run(lab, Scenario((gpu(0), gpu(1))), *program(lab, body))
    assert (verdict["cause"], verdict["family"]) == ("missing_module", "A1")
    said = {claim["source"]: claim["claim"] for claim in verdict["shows"]}
    assert said["nvml"].startswith("GPU 0 held 476.8 MiB at most")
    assert said["progress"] == "the log reports no step of a training"


@pytest.mark.parametrize("agrees", [True, False])
def test_out_of_gpu_memory(lab: Lab, agrees: bool) -> None:
    """B1: the GPU's memory agrees with the log, or the verdict reports the contradiction."""
    fullest = 78 * GIB if agrees else 20 * GIB
    memory = line((0, GIB), (2, fullest))
    machine = Scenario((replace(used(lab, 0), memory_used=memory),))
    body = f"step(1, 2.0)\ntime.sleep(4)\nsys.stderr.write({CUDA_OOM!r} + chr(10))\nsys.exit(1)\n"
    verdict = run(lab, machine, *program(lab, body))
    assert (verdict["cause"], verdict["family"]) == ("cuda_oom", "B1")
    assert "nvml" in [claim["source"] for claim in verdict["shows"]]
    assert any("memory may have risen" in text for text in verdict["cannot_decide"]) is not agrees


def test_launches_that_block(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """D2: the variable is in the environment of the process."""
    monkeypatch.setenv("CUDA_LAUNCH_BLOCKING", "1")
    body = "for n in range(1, 75): step(n, 9 / n); time.sleep(0.1)\n"
    verdict = run(lab, Scenario((used(lab, 0),)), *program(lab, body))
    assert (verdict["cause"], verdict["family"]) == ("launch_blocking", "D2")


def test_diverged(lab: Lab) -> None:
    """E1: the loss rises to the end, and the status is 0."""
    verdict = run(lab, None, *program(lab, "for n in range(1, 80): step(n, 2.0 + n * n / 100)\n"))
    assert (verdict["cause"], verdict["family"]) == ("not_learning", "E1")


def _checkpoint(lab: Lab, name: str, data: bytes) -> None:
    folder = lab.home / "out"
    folder.mkdir()
    (folder / name).write_bytes(data)
    os.utime(folder / name, (1.7e9, 1.7e9))


@pytest.mark.parametrize("seconds", [0, 2])
def test_began_anew(lab: Lab, seconds: int) -> None:
    """E2: the checkpoint that the command names existed, and the first step is step 1; also for a
    run that ended before the first sample."""
    _checkpoint(lab, "last.pt", b"state")
    body = f"for n in range(1, 60): step(n, 9 / n)\ntime.sleep({seconds})\n"
    verdict = run(lab, None, *program(lab, body), "--resume", "out/last.pt")
    assert (verdict["cause"], verdict["family"]) == ("resume_from_scratch", "E2")


def test_first_run_of_many(lab: Lab) -> None:
    """A script that would resume, but has no checkpoint yet, is no case of E2."""
    body = (
        "for n in range(1, 60): step(n, 9 / n)\n"
        "os.makedirs('out'); open('out/last.pt', 'wb').write(b'state')\ntime.sleep(2)\n"
    )
    verdict = run(lab, None, *program(lab, body), "--resume", "out/last.pt")
    assert verdict["cause"] == "none"


def test_went_on(lab: Lab) -> None:
    """A run that resumed is no case of E2."""
    _checkpoint(lab, "last.pt", b"state")
    body = "for n in range(500, 600): step(n, 90 / n)\ntime.sleep(2)\n"
    verdict = run(lab, None, *program(lab, body), "--resume", "out/last.pt")
    assert verdict["cause"] == "none"
    assert "E2" in [one["family"] for one in verdict["ruled_out"]]


def test_cannot_load_its_checkpoint(lab: Lab) -> None:
    """E2: the run tries to resume from a truncated checkpoint."""
    _checkpoint(lab, "last.pt", b"\x80\x04\x95")
    body = (
        "import pickle\n"
        "def resume_from(path):\n    with open(path, 'rb') as file: return pickle.load(file)\n"
        "checkpoint = resume_from('out/last.pt')\n"
    )
    script = lab.script("train.py", body)
    verdict = run(lab, None, *python(f"exec(compile(open({script!r}).read(), 'train.py', 'exec'))"))
    assert (verdict["cause"], verdict["family"]) == ("checkpoint", "E2")


def test_cut_short(lab: Lab) -> None:
    """E3: a progress bar shows that few of the steps were made."""
    body = (
        "for n in range(1, 30):\n"
        "    print({'loss': 9 / n, 'grad_norm': 1.0, 'learning_rate': 1e-4, 'epoch': n / 500})\n"
        "    print(f' {n / 50:.0f}%|#   | {n}/5000 [00:{n:02d}<09:59, 2.1it/s]')\n"
    )
    verdict = run(lab, None, *program(lab, body))
    assert (verdict["cause"], verdict["family"]) == ("undertrained", "E3")


def test_time_limit(lab: Lab) -> None:
    """F3: our limit ends a working run."""
    body = "for n in range(1, 4000): step(n, 9 / n); time.sleep(0.1)\n"
    variables = {**os.environ, **lab.environment(), "GPUALERT_OBSERVE": "true"}
    done = lab.gpualert("run", "--timeout", "3s", "--", *program(lab, body), env=variables)
    assert done.returncode == 124
    verdict = lab.record().read_json("verdict.json")
    assert verdict is not None
    assert (verdict["cause"], verdict["family"]) == ("time_limit", "F3")


def test_stopped_by_somebody(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """F2: a person stops the supervisor, and so the run."""
    monkeypatch.setenv("GPUALERT_OBSERVE", "true")
    supervised = lab.launch(*program(lab, "while True: step(1, 1.0); time.sleep(0.1)\n"))
    supervised.wait_for_output(b"step 1")
    supervised.signal(signal.SIGINT)
    supervised.wait()
    verdict = until(lambda: supervised.record.read_json("verdict.json"), "the verdict")
    assert (verdict["cause"], verdict["family"]) == ("cancelled", "F2")


def test_healthy(lab: Lab) -> None:
    """G1: steps, and a loss that fell."""
    verdict = run(lab, None, *program(lab, "for n in range(1, 60): step(n, 9 / n)\n"))
    assert (verdict["cause"], verdict["family"]) == ("none", "G1")
    assert verdict["details"]["health"] == "healthy"


FAILS = """
import os, sys, time
for n in range(1, 20): print(f'step {n}: loss {9 / n:.4f}', flush=True); time.sleep(0.1)
raise KeyError('labels')
"""


def _compared(verdict: dict[str, Any]) -> dict[str, Any]:
    names = ("cause", "family", "exit_code", "attribution", "disposition", "headline", "confidence")
    return {name: verdict[name] for name in names}


def _assert_missing(verdict: dict[str, Any], *names: str) -> None:
    told = {one["name"]: one for one in verdict["sources"]}
    for name in names:
        assert not told[name]["available"]
        assert told[name]["why"]
    assert not [one for one in verdict["warnings"] if one["kind"].endswith("failed")]
    assert verdict["ruled_out"] == [one for one in verdict["ruled_out"] if one["family"] != "B2"]


def test_with_and_without_a_library(lab: Lab) -> None:
    """With and without NVML, status and cause are the same, and missing evidence is named."""
    seen = run(lab, Scenario((used(lab, 0),)), *python(FAILS))
    lab.state = lab.home / "other"
    unseen = run(lab, None, *python(FAILS))
    assert _compared(seen) == _compared(unseen)
    _assert_missing(unseen, "nvml")


MASKED = "mount --bind /dev/null /dev/kmsg && mount -t tmpfs none /sys/fs/cgroup && exec "


@pytest.mark.e2e
@pytest.mark.parametrize(
    "script", [FAILS, "import os, time; time.sleep(2); os.kill(os.getpid(), 9)"]
)
def test_nothing_can_be_read(lab: Lab, script: str) -> None:
    """Without NVML, kernel log and cgroups, as in many containers: the same status, and a verdict
    without unsupported claims."""
    variables = {**os.environ, **lab.environment(), "GPUALERT_OBSERVE": "true"}
    seen = lab.gpualert("run", "--", *python(script), env=variables)
    (first,) = lab.records()
    whole = Record.open(str(first)).read_json("verdict.json")
    inside = MASKED + shlex.join((*PROGRAM, "run", "--", *python(script)))
    unseen = lab.call(("unshare", "--mount", "sh", "-c", inside), env=variables)
    assert unseen.returncode == seen.returncode
    (second,) = set(lab.records()) - {first}
    blind = Record.open(str(second)).read_json("verdict.json")
    assert whole is not None
    assert blind is not None
    names = ("cause", "family", "exit_code", "attribution", "disposition")
    assert [blind[name] for name in names] == [whole[name] for name in names]
    _assert_missing(blind, "nvml", "kernel_log", "cgroup")
    assert "somebody" not in str(blind["details"])
