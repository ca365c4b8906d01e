"""Variables that mark the processes of a run, and its helper processes."""

from __future__ import annotations

from gpualert_common.processes.procfs import ProcessStat

HELPER_OF = "GPUALERT_HELPER_OF"
"""Variable of the helper processes that GPUAlert starts for a run; its value is the run's marker.

Their descendants inherit it.  Once orphaned these come to the supervisor, as the run's own do, and
are distinguished by it.
"""
_PREFIX = "GPUALERT_MARK_"
_PREFIX_BYTES = _PREFIX.encode()
_KTHREADD = 2
"""Parent of the kernel's own threads, which never have an environment."""


def run_marker(run_id: str) -> str:
    """Return the name of the variable that every process of the run carries.

    Each run has a name of its own, so that a run inside a run carries both markers.
    """
    return _PREFIX + run_id.replace("-", "_")


def has_marker(environment: bytes, marker: str) -> bool:
    """True when the environment is that of a process of the run."""
    return f"\0{marker}=".encode() in b"\0" + environment


def find_marked_runs(environment: bytes) -> list[str]:
    """Return the ids of the runs whose markers an environment carries, the outermost first."""
    names = (one.partition(b"=")[0] for one in environment.split(b"\0"))
    marks = (name.decode("ascii", "replace") for name in names if name.startswith(_PREFIX_BYTES))
    return [mark.removeprefix(_PREFIX).replace("_", "-") for mark in marks]


def is_any_helper(environment: bytes) -> bool:
    """True when the environment is that of a helper process of some run."""
    return f"\0{HELPER_OF}=".encode() in b"\0" + environment


def is_helper(environment: bytes, marker: str) -> bool:
    """True when the environment is that of a helper process of the run."""
    return f"\0{HELPER_OF}={marker}\0".encode() in b"\0" + environment


def is_kernel_thread(stat: ProcessStat) -> bool:
    """True for a thread of the kernel."""
    return _KTHREADD in (stat.pid, stat.parent)
