"""The three baselines of the paper, implemented anew.

Each returns one of the paper's 15 classes, or None.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final

from gpualert_common.classify.lines import canonicalize

KEYWORDS: Final[Mapping[str, tuple[str, ...]]] = {
    "cuda_oom": (
        *("cuda out of memory", "outofmemoryerror", "tried to allocate", "gpu memory"),
        *("cuda_error_out_of_memory", "resource_exhausted", "max_split_size_mb"),
    ),
    "nccl": (
        *("nccl", "processgroupnccl", "watchdog", "allreduce", "collective", "ncclsystemerror"),
        *("unhandled system error", "connection reset by peer", "gloo"),
    ),
    "cuda_runtime": (
        *("cuda error", "cuda runtime error", "device-side assert", "illegal memory access"),
        *("cublas_status", "cudnn_status", "cuda_launch_blocking", "unspecified launch failure"),
    ),
    "ram_oom": (
        *("memoryerror", "cannot allocate memory", "std::bad_alloc", "unable to allocate"),
        *("defaultcpuallocator", "enomem"),
    ),
    "segfault": (
        *("segmentation fault", "sigsegv", "core dumped", "fatal python error", "signal 11"),
        *("bus error", "sigabrt"),
    ),
    "file_not_found": (
        *("filenotfounderror", "no such file or directory", "errno 2", "not found", "enoent"),
        *("does not exist",),
    ),
    "permission": (
        *("permissionerror", "permission denied", "errno 13", "access denied"),
        *("operation not permitted", "read-only file system"),
    ),
    "missing_module": (
        *("modulenotfounderror", "importerror", "no module named", "cannot import name"),
        *("pip install", "undefined symbol"),
    ),
    "div_zero": (
        *("zerodivisionerror", "division by zero", "divide by zero", "modulo by zero"),
        *("floating point exception", "sigfpe"),
    ),
    "device_mismatch": (
        *("same device", "cuda:0 and cpu", "expected device", "at least two devices"),
        *("torch.cuda.floattensor", "input type", "weight type"),
    ),
    "nan_loss": (
        *("loss is nan", "loss: nan", "nan loss", "loss=nan", "nan or inf", "returned nan"),
        *("gradient overflow", "non-finite"),
    ),
    "oom_killer": (
        *("oom-kill", "out of memory: killed process", "oom killer", "oomkilled", "sigkill"),
        *("killed", "exit code 137", "memory cgroup"),
    ),
    "assertion": ("assertionerror", "assert ", "assertion failed", "assertion `"),
    "runtime_error": ("runtimeerror", "c10::error", "terminate called"),
    "traceback": (
        *("traceback (most recent call last)", "valueerror", "keyerror", "typeerror"),
        *("attributeerror", "indexerror", "nameerror", "exception"),
    ),
}
"""Keywords of each class, from its description in the paper, the libraries and the manuals.

The specific classes are first: of two classes with the same count the first one wins.
"""

_MESSAGES: Final = (
    ("cuda_oom", re.compile(r"CUDA (?:error: )?out of memory|CUDA_ERROR_OUT_OF_MEMORY")),
    ("nccl", re.compile(r"NCCL|Gloo|gloo")),
    ("cuda_runtime", re.compile(r"CUDA|CUBLAS|CUDNN|cuDNN")),
    ("device_mismatch", re.compile(r"on the same device|should be the same")),
    ("ram_oom", re.compile(r"can't allocate memory|bad_alloc|Cannot allocate memory")),
)
_TYPES: Final = {
    "RuntimeError": "runtime_error",
    "AssertionError": "assertion",
    "FileNotFoundError": "file_not_found",
    "PermissionError": "permission",
    "ImportError": "missing_module",
    "ModuleNotFoundError": "missing_module",
    "ZeroDivisionError": "div_zero",
    "FloatingPointError": "nan_loss",
    "MemoryError": "ram_oom",
    "OutOfMemoryError": "cuda_oom",
    "DistBackendError": "nccl",
}
_EXCEPTION = re.compile(
    r"^(?:\[\w+\]: ?)?(?:[A-Za-z_]\w*\.)*([A-Z]\w*(?:Error|Exception|Interrupt|Exit))"
    r"(?::\s*(.*))?$"
)

_CODES: Final = {
    2: "file_not_found",
    126: "permission",
    127: "file_not_found",
    132: "segfault",
    134: "segfault",
    135: "segfault",
    136: "div_zero",
    137: "oom_killer",
    139: "segfault",
}
_SIGNAL_BASE = 128


def classify_by_keywords(
    log: bytes,
    exit_code: int | None,  # noqa: ARG001 - all baselines have one signature
) -> str | None:
    """Return the class with the most different keywords, at any place and in any order."""
    text = log.decode("utf-8", "replace").lower()
    best, most = None, 0
    for name, words in KEYWORDS.items():
        count = sum(word in text for word in words)
        if count > most:
            best, most = name, count
    return best


def classify_by_last_exception(
    log: bytes,
    exit_code: int | None,  # noqa: ARG001 - all baselines have one signature
) -> str | None:
    """Return the class of the last line that looks like an exception, by message, then type."""
    for line in reversed(canonicalize(log).decode("utf-8", "replace").split("\n")):
        found = _EXCEPTION.match(line)
        if found is None:
            continue
        if found[1] not in ("ModuleNotFoundError", "FileNotFoundError", "ImportError"):
            for name, message in _MESSAGES:
                if message.search(found[2] or ""):
                    return name
        return _TYPES.get(found[1], "traceback")
    return None


def classify_by_exit_code(
    log: bytes,  # noqa: ARG001 - all baselines have one signature
    exit_code: int | None,
) -> str | None:
    """Return the class that the exit code means by the conventions of shell and Python."""
    if exit_code is None or exit_code == 0:
        return None
    code = _SIGNAL_BASE - exit_code if exit_code < 0 else exit_code
    return _CODES.get(code, "traceback" if code == 1 else None)


BASELINES: Final[Mapping[str, Callable[[bytes, int | None], str | None]]] = {
    "unordered keywords": classify_by_keywords,
    "last exception": classify_by_last_exception,
    "exit code": classify_by_exit_code,
}
