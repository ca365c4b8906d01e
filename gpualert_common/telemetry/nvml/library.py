"""Opening NVML, and what it means where that fails."""

from __future__ import annotations

from ctypes import CDLL
from importlib import import_module
from typing import Any

from gpualert_common.telemetry.source import SourceUnavailableError

_LIBRARY = "libnvidia-ml.so.1"
"""The name by which the load_binding loads it, too."""

LIBRARY_NOT_FOUND = 12

_OPEN_ERRORS = {
    4: (
        "no permission to use the GPUs",
        "let this user read and write /dev/nvidia*, also by the device rules of its cgroup",
    ),
    9: (
        "the NVIDIA driver is not loaded",
        "load it (modprobe nvidia), or install it for the kernel that is running",
    ),
    LIBRARY_NOT_FOUND: (
        f"there is no NVML ({_LIBRARY})",
        "install the NVIDIA driver; in a container, ask for its capability 'utility'",
    ),
    13: ("the NVIDIA driver is too old for nvidia-ml-py", "install a newer driver"),
    17: (
        "the operating system keeps NVML from the GPUs",
        "look for device rules of a cgroup, or a security module, that name /dev/nvidia*",
    ),
    18: (
        "NVML and the loaded NVIDIA driver are of different versions",
        "the driver was replaced while it was loaded: reboot, or load it anew",
    ),
}
"""Why NVML does not open, and what helps, by its error code."""


def load_binding() -> Any:
    """The module of nvidia-ml-py.  Raises UnavailableError.

    It takes 20 ms to import, which a machine without a driver is spared.
    """
    try:
        CDLL(_LIBRARY)
    except OSError:
        raise SourceUnavailableError(*_OPEN_ERRORS[LIBRARY_NOT_FOUND]) from None
    try:
        return import_module("pynvml")
    except ImportError:
        raise SourceUnavailableError(
            "the Python package nvidia-ml-py is not installed", "pip install nvidia-ml-py"
        ) from None


def open_library(nvml: Any) -> int:
    """Open NVML and return the number of GPUs, at least 1.  Raises UnavailableError."""
    try:
        nvml.nvmlInit()
    except nvml.NVMLError as error:
        raise make_unavailable_error(error) from None
    try:
        count = int(nvml.nvmlDeviceGetCount())
    except nvml.NVMLError as error:
        nvml.nvmlShutdown()
        raise make_unavailable_error(error) from None
    if not count:
        nvml.nvmlShutdown()
        raise SourceUnavailableError(
            "there is no GPU that is visible here", "in a container, ask for GPUs (--gpus)"
        )
    return count


def make_unavailable_error(error: Any) -> SourceUnavailableError:
    """What to say of an NVMLError that leaves nothing to look at."""
    why, remedy = _OPEN_ERRORS.get(error.value, (f"NVML does not open: {error}", ""))
    return SourceUnavailableError(why, remedy)
