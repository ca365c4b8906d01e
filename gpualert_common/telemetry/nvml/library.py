"""Opening of NVML, and the reasons for which that fails."""

from __future__ import annotations

from ctypes import CDLL
from importlib import import_module
from typing import Any

from gpualert_common.telemetry.nvml.presence import LIBRARY
from gpualert_common.telemetry.source import SourceUnavailableError

LIBRARY_NOT_FOUND = 12

_OPEN_ERRORS = {
    4: (
        "no permission to use the GPUs",
        "let this user read and write /dev/nvidia*, also by the device rules of its cgroup",
    ),
    9: (
        "the NVIDIA driver is not loaded",
        "load it (modprobe nvidia), or install it for the running kernel",
    ),
    LIBRARY_NOT_FOUND: (
        f"there is no NVML ({LIBRARY})",
        "install the NVIDIA driver; in a container, request its capability 'utility'",
    ),
    13: ("the NVIDIA driver is too old for nvidia-ml-py", "install a newer driver"),
    17: (
        "the operating system blocks access to the GPUs",
        "check the device rules of the cgroup, and security modules, for /dev/nvidia*",
    ),
    18: (
        "NVML and the loaded NVIDIA driver are of different versions",
        "the driver was replaced while it was loaded: reboot, or reload it",
    ),
}
"""Reason and remedy for each error code with which NVML does not open."""


def load_binding() -> Any:
    """Return the module of nvidia-ml-py.  Raises SourceUnavailableError.

    The import takes 20 ms, so it is skipped on a machine without a driver.
    """
    try:
        CDLL(LIBRARY)
    except OSError:
        raise SourceUnavailableError(*_OPEN_ERRORS[LIBRARY_NOT_FOUND]) from None
    try:
        return import_module("pynvml")
    except ImportError:
        raise SourceUnavailableError(
            "the Python package nvidia-ml-py is not installed", "pip install nvidia-ml-py"
        ) from None


def open_library(nvml: Any) -> int:
    """Open NVML and return the number of GPUs, at least 1.  Raises SourceUnavailableError."""
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
            "no GPU is visible here", "in a container, request GPUs (--gpus)"
        )
    return count


def make_unavailable_error(error: Any) -> SourceUnavailableError:
    """Return the error for an NVMLError that prevents all sampling."""
    why, remedy = _OPEN_ERRORS.get(error.value, (f"NVML does not open: {error}", ""))
    return SourceUnavailableError(why, remedy)
