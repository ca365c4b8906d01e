"""Presence of NVML on the machine, found without loading it."""

from __future__ import annotations

import os

LIBRARY = "libnvidia-ml.so.1"
"""The name by which the driver installs NVML, and the binding loads it."""
_CACHE = "/etc/ld.so.cache"


def has_library() -> bool:
    """Return whether the loader would find NVML, in some 50 microseconds.

    The loader looks in LD_LIBRARY_PATH, then in its cache, in which ldconfig lists the libraries of
    the system; NVIDIA's container toolkit updates that of a container.
    """
    given = os.environ.get("LD_LIBRARY_PATH", "").split(":")
    if any(os.path.exists(os.path.join(directory, LIBRARY)) for directory in given if directory):
        return True
    try:
        with open(_CACHE, "rb") as file:
            return f"{LIBRARY}\0".encode() in file.read()
    except OSError:
        return False
