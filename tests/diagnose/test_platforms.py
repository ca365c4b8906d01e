"""GPU errors name the platform of the device, its tools, and whose processes held its memory."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpualert_common.classify.platforms import PLATFORMS
from gpualert_common.model import Attribution, ExitFacts, Retry, Verdict
from gpualert_common.retries import Action, RetryRules
from tests.diagnose.test_verdict import reading, verdict_on
from tests.scenarios.scene import GIB, PID, Card, Scene, flat

RAISE = 'step 1 loss 0.1\nTraceback (most recent call last):\n  File "train.py", line 3, in f\n'
TRIED = "out of memory. Tried to allocate 20.00 GiB."
OTHER = "Process 7 has 60.00 GiB memory in use."
ON_CARD = "GPU 0 has a total capacity of 79.20 GiB of which 1.00 GiB is free."


def verdict_of(error: str) -> Verdict:
    """Return the verdict on a training that raised this error."""
    return verdict_on([reading(f"{RAISE}{error}\n")], ExitFacts(1))


def texts_of(verdict: Verdict) -> str:
    """Return all texts of a verdict that come from its rule."""
    return "\n".join([verdict.headline, verdict.implies, *verdict.cannot_decide, *verdict.do])


@pytest.mark.parametrize(
    ("error", "headline"),
    [
        (f"torch.OutOfMemoryError: CUDA {TRIED}", "CUDA out of memory: 20.0 GiB requested"),
        (f"torch.OutOfMemoryError: HIP {TRIED}", "HIP out of memory: 20.0 GiB requested"),
        (f"RuntimeError: NPU {TRIED}", "NPU out of memory: 20.0 GiB requested"),
        (f"torch.OutOfMemoryError: XPU {TRIED}", "XPU out of memory: 20.0 GiB requested"),
        ("RuntimeError: HPU out of memory", "HPU out of memory"),
        (
            "RuntimeError: MPS backend out of memory (MPS allocated: 5.50 GB, other allocations: 1 "
            + "GB, max allowed: 20.40 GB). Tried to allocate 147.24 MB on private pool.",
            "MPS out of memory: 140.4 MiB requested on a 19.0 GiB card",
        ),
        (
            "XlaRuntimeError: RESOURCE_EXHAUSTED: XLA:TPU compile permanent error. Ran out of "
            + "memory in memory space hbm. Used 18.11G of 15.48G hbm.",
            "TPU out of memory",
        ),
        (
            "jax.errors.JaxRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to "
            + "allocate 12.00GiB.",
            "Out of device memory: 12.0 GiB requested",
        ),
        (
            "torch.OutOfMemoryError: Allocation on device 0 would exceed allowed memory.",
            "Out of device memory",
        ),
        (
            "RuntimeError: HIP error: an illegal memory access was encountered",
            "HIP error: an illegal memory access was encountered",
        ),
        (
            "RuntimeError: CUDA error: device-side assert triggered",
            "CUDA error: device-side assert triggered",
        ),
    ],
)
def test_headline_names_the_platform(error: str, headline: str) -> None:
    """The headline has the platform of the message; no other is named where none is known."""
    assert verdict_of(error).headline == headline


@pytest.mark.parametrize(
    ("error", "tools"),
    [
        ("HIP error: an illegal memory access was encountered", ["AMD_SERIALIZE_KERNEL=3"]),
        (
            f"HIP {TRIED} {ON_CARD} {OTHER}",
            ["rocm-smi --showpids"],
        ),
        (f"NPU {TRIED} {ON_CARD} {OTHER}", ["npu-smi info"]),
    ],
)
def test_advice_names_the_tools_of_the_platform(error: str, tools: list[str]) -> None:
    """The advice names the tools and variables of the platform, and none of CUDA's."""
    texts = texts_of(verdict_of(f"RuntimeError: {error}"))
    assert all(tool in texts for tool in tools)
    assert not any(word in texts for word in ("CUDA", "NCCL", "nvidia", "Xid"))


def test_each_platform_has_its_own_name() -> None:
    """No two platforms have one name, and each is found by its name in a message."""
    names = [one.name for one in PLATFORMS]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize(
    "error",
    [
        pytest.param(
            f"torch.OutOfMemoryError: CUDA {TRIED} {ON_CARD} {OTHER}",
            id="one-process",
        ),
        pytest.param(
            f"torch.OutOfMemoryError: CUDA {TRIED} {ON_CARD} Process 7 has 12.00 GiB memory in use."
            " Process 8 has 11.00 GiB memory in use. Process 9 has 10.00 GiB memory in use.",
            id="several-processes",
        ),
        pytest.param(
            f"torch.OutOfMemoryError: CUDA {TRIED} {ON_CARD} Including non-PyTorch memory, this "
            "process has 11.02 GiB memory in use.",
            id="in-a-container",
        ),
        pytest.param(
            "ValueError: Free memory on device (20.3/79.1 GiB) on startup is less than desired GPU "
            "memory utilization (0.9, 71.2 GiB). Decrease GPU memory utilization or reduce GPU "
            "memory used by other processes.",
            id="vllm",
        ),
    ],
)
def test_shared_card_is_not_the_jobs_fault(error: str) -> None:
    """The job is not at fault if other processes hold the memory, and a retry may help."""
    found = verdict_of(error)
    assert (found.cause, found.details["kind"]) == ("cuda_oom", "co_tenant")
    assert (found.attribution, found.retry) == (Attribution.EXTERNAL, Retry.ELSEWHERE)
    assert "out of memory: other processes held " in found.headline
    assert RetryRules.of().advise(found).action is Action.DEFAULT


@pytest.mark.parametrize(
    "rest",
    [
        pytest.param("", id="nobody-else"),
        pytest.param(" Process 7 has 2.00 GiB memory in use.", id="a-small-one"),
    ],
)
def test_own_memory_is_the_jobs_fault(rest: str) -> None:
    """The job is at fault if the request would not fit without the others either."""
    found = verdict_of(f"torch.OutOfMemoryError: CUDA {TRIED} {ON_CARD}{rest}")
    assert (found.attribution, found.retry) == (Attribution.JOB, Retry.AFTER_FIX)
    assert RetryRules.of().advise(found).action is Action.STOP


def test_shared_card_by_its_telemetry(tmp_path: Path) -> None:
    """The driver shows the processes of others also where the message names none."""
    error = f"torch.OutOfMemoryError: CUDA {TRIED} {ON_CARD}\n"
    card = Card(memory=flat(0.1), others_bytes=70 * GIB)
    found = Scene(code=1, log=RAISE + error, cards=[card]).verdict(tmp_path)
    assert (found["details"]["kind"], found["attribution"]) == ("co_tenant", "external")
    assert found["retry"] == "elsewhere"
    assert "other processes held " in found["headline"]


def test_ranks_of_one_job_on_one_card(tmp_path: Path) -> None:
    """Processes of the run itself on its card are the job's own fault."""
    error = f"torch.OutOfMemoryError: CUDA {TRIED} {ON_CARD} {OTHER.replace('7', str(PID))}"
    card = Card(memory=flat(0.99), total_bytes=int(79.2 * GIB))
    found = Scene(code=1, log=f"{RAISE}{error}\n", cards=[card]).verdict(tmp_path)
    assert (found["details"]["kind"], found["attribution"]) == ("shared_by_job", "job")
