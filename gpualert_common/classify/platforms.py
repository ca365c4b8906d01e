"""Device platforms: CUDA, HIP and others, found in the words of a message, with their tools."""

from __future__ import annotations

from functools import cache
from typing import Any

from gpualert_common.regex import compile_text
from gpualert_common.structs import Struct

PLATFORM_CAUSES = frozenset(
    {"cuda_oom", "cuda_runtime", "cuda_environment", "gpu_hardware", "collective"}
)
"""Causes whose texts name the platform."""

_DEVICES = ("TPU", "NPU", "HPU", "MLU")
"""Platforms whose devices people do not call GPUs."""


class Platform(Struct, frozen=True):
    """A device platform, as messages name it.

    ``signs`` is RE2 syntax over a message.  ``tool`` lists the processes on a device, ``report``
    its state; ``devices`` and ``allocator`` are the environment variables for visible devices and
    for PyTorch's allocator.  ``ccl`` is the library for collectives, ``ccl_tests`` its benchmark.
    ``blocking`` makes launches report their errors at once.
    """

    name: str
    signs: str
    tool: str
    report: str
    devices: str
    ccl: str
    ccl_tests: str = "a benchmark of collectives"
    allocator: str = "PYTORCH_ALLOC_CONF"
    blocking: str = "launches that wait for their result"

    @property
    def words(self) -> dict[str, str]:
        """The placeholders that the texts of rules may use."""
        return {
            "device": self.name if self.name in _DEVICES else "GPU",
            "gpu_tool": self.tool,
            "gpu_report": self.report,
            "visible_devices": self.devices,
            "ccl": self.ccl,
            "ccl_tests": self.ccl_tests,
            "allocator_variable": self.allocator,
            "blocking_launches": self.blocking,
        }


_UNNAMED = Platform(
    name="GPU",
    signs=r"GPU|\btorch\.cuda\b|\bcupy\b",
    tool="nvidia-smi or rocm-smi",
    report="nvidia-smi -q or rocm-smi -a",
    devices="the variable for visible devices, such as CUDA_VISIBLE_DEVICES",
    ccl="the library for collectives",
    blocking="CUDA_LAUNCH_BLOCKING=1 (on CUDA)",
)

PLATFORMS: tuple[Platform, ...] = (
    Platform(
        name="HIP",
        signs=r"\bHIP\b|\bhip[A-Z]\w+|ROCm|\brocm|\bHSA_|\bRCCL\b|\bamdgpu\b|\bMIOpen",
        tool="rocm-smi --showpids",
        report="rocm-smi -a",
        devices="HIP_VISIBLE_DEVICES",
        ccl="RCCL",
        ccl_tests="rccl-tests",
        allocator="PYTORCH_HIP_ALLOC_CONF",
        blocking="AMD_SERIALIZE_KERNEL=3",
    ),
    Platform(
        name="NPU",
        signs=(
            r"\bNPU\b|torch_npu|\bHCCL|\bAscend|\bACL_|\brtMalloc\b|\bGE module\b|\(E[A-Z]\d{4}\)"
        ),
        tool="npu-smi info",
        report="npu-smi info",
        devices="ASCEND_RT_VISIBLE_DEVICES",
        ccl="HCCL",
        ccl_tests="hccl_test",
        allocator="PYTORCH_NPU_ALLOC_CONF",
        blocking="ASCEND_LAUNCH_BLOCKING=1",
    ),
    Platform(
        name="TPU",
        signs=r"\bTPU|libtpu|memory space (?:hbm|vmem)|\b[hv]bm capacity\b",
        tool="tpu-info",
        report="tpu-info",
        devices="TPU_VISIBLE_CHIPS",
        ccl="XLA",
    ),
    Platform(
        name="XPU",
        signs=r"\bXPU\b|level_zero|\bUR_RESULT_|\bPI_ERROR_|\bSYCL\b|\bsycl::|oneCCL",
        tool="xpu-smi ps",
        report="xpu-smi discovery",
        devices="ZE_AFFINITY_MASK",
        ccl="oneCCL",
    ),
    Platform(
        name="HPU",
        signs=r"\bHPU\b|\bhabana|\bsynapse|\bsynStatus",
        tool="hl-smi",
        report="hl-smi -q",
        devices="HABANA_VISIBLE_DEVICES",
        ccl="HCCL",
    ),
    Platform(
        name="MPS",
        signs=r"\bMPS backend\b|\bMPSNDArray|\bMetal\b",
        tool="the Activity Monitor",
        report="the Activity Monitor",
        devices="the device of the program",
        ccl="gloo",
    ),
    Platform(
        name="MUSA",
        signs=r"\bMUSA\b",
        tool="mthreads-gmi",
        report="mthreads-gmi -q",
        devices="MUSA_VISIBLE_DEVICES",
        ccl="MCCL",
    ),
    Platform(
        name="MLU",
        signs=r"\bMLU\b",
        tool="cnmon",
        report="cnmon info",
        devices="MLU_VISIBLE_DEVICES",
        ccl="CNCL",
    ),
    Platform(
        name="CUDA",
        signs=(
            r"\bCUDA|\bcuda(?:[A-Z]|\b[^.])|\bcu[A-Z][a-z]+[A-Z]\w+|\bcu(?:BLAS|DNN|FFT|SOLVER)"
            r"|CU(?:BLAS|DNN|FFT|RAND|SOLVER|SPARSE)_|\bCuda |\bNCCL|\bNVRM\b|\bXid\b|\bNVML"
            r"|NVIDIA|nvidia|\bcuMem|\.cuh?\b"
        ),
        tool="nvidia-smi",
        report="nvidia-smi -q",
        devices="CUDA_VISIBLE_DEVICES",
        ccl="NCCL",
        ccl_tests="nccl-tests",
        allocator="PYTORCH_CUDA_ALLOC_CONF",
        blocking="CUDA_LAUNCH_BLOCKING=1",
    ),
    _UNNAMED,
)
"""All platforms; the first whose signs a message has is its platform."""

PLATFORM_WORDS = frozenset({"platform", *_UNNAMED.words})
"""Names that the texts of the rules of :data:`PLATFORM_CAUSES` may use."""

_BY_NAME = {one.name: one for one in PLATFORMS}


def find_platform(text: str) -> str | None:
    """Return the name of the platform that *text* is about; None if it names none."""
    return next((one.name for one in PLATFORMS if _compile(one.name).search(text)), None)


def describe_platform(name: object) -> dict[str, str]:
    """Return the tools of a platform; of an unknown one in general words."""
    return _BY_NAME.get(str(name), _UNNAMED).words


@cache
def _compile(name: str) -> Any:  # of re2, which has no types
    return compile_text(_BY_NAME[name].signs)
