"""Classes of the paper (GPUAlert, 2026): its 15-way label, for comparison with its classifier."""

from __future__ import annotations

from typing import Final

from gpualert_common.classify.resolution import Resolution
from gpualert_common.regex import compile_text

_SAME: Final = frozenset(
    {
        *("cuda_oom", "cuda_runtime", "segfault", "file_not_found", "permission"),
        *("missing_module", "div_zero", "device_mismatch", "nan_loss", "oom_killer"),
        *("traceback", "assertion", "runtime_error"),
    }
)
_RENAMED: Final = {"host_oom": "ram_oom", "collective": "nccl"}
_EXCEPTIONS: Final = {
    "RuntimeError": "runtime_error",
    "AssertionError": "assertion",
    "FileNotFoundError": "file_not_found",
    "PermissionError": "permission",
    "ImportError": "missing_module",
    "ModuleNotFoundError": "missing_module",
    "ZeroDivisionError": "div_zero",
    "MemoryError": "ram_oom",
}

_NCCL: Final = compile_text(r"NCCL error|ncclUnhandledCudaError|Watchdog caught collective")
_CUDA: Final = compile_text(
    r"(?i:CUDA (?:driver |runtime )?error\b|CUDA unknown error"
    r"|CUDA driver (?:version|initialization)|cuDNN error)"
    r"|\bcudaError[A-Z]|\bCUDA_ERROR_[A-Z]|\bCU(?:BLAS|DNN)_STATUS_[A-Z]"
)

CLASSES: Final = _SAME | frozenset(_RENAMED.values())
"""The paper's labels."""


def find_paper_class(cause: str) -> str | None:
    """Return the paper's label for *cause*; None for a cause that the paper lacks."""
    return _RENAMED.get(cause, cause if cause in _SAME else None)


def paper_class(resolution: Resolution) -> str | None:
    """Return the paper's label: that of the cause, else that of its text, else of its exception.

    The paper calls every text of a CUDA error ``cuda_runtime``, and every text of NCCL ``nccl``.
    """
    named = find_paper_class(resolution.cause)
    if named is not None:
        return named
    carrier = resolution.carrier
    texts = [one.excerpt for one in resolution.evidence[:1]]
    texts += [carrier.text] if carrier is not None else []
    for expression, label in ((_NCCL, "nccl"), (_CUDA, "cuda_runtime")):
        if any(map(expression.search, texts)):
            return label
    return None if carrier is None else _EXCEPTIONS.get(carrier.name, "traceback")
