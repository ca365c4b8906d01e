"""Classes of the paper (GPUAlert, 2026): its 15-way label, for comparison with its classifier."""

from __future__ import annotations

from typing import Final

from gpualert_common.classify.resolution import Resolution

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

CLASSES: Final = _SAME | frozenset(_RENAMED.values())
"""The paper's labels."""


def find_paper_class(cause: str) -> str | None:
    """Return the paper's label for *cause*; None for a cause that the paper lacks."""
    return _RENAMED.get(cause, cause if cause in _SAME else None)


def paper_class(resolution: Resolution) -> str | None:
    """Return the paper's label: that of the cause, else that of the exception, else None."""
    named = find_paper_class(resolution.cause)
    if named is not None or resolution.carrier is None:
        return named
    return _EXCEPTIONS.get(resolution.carrier.name, "traceback")
