"""Names of the causes, families and fault classes.

The order is that of the documentation, from start-up to the scheduler.  Names are never changed
or removed, because verdicts on disk and retry policies of users refer to them; names are added.
"""

import signal

CAUSES: tuple[str, ...] = (
    "missing_module",
    "dependency",
    "command_not_found",
    "compile_error",
    "cuda_environment",
    "config",
    "pickling",
    "data",
    "asset",
    "file_not_found",
    "permission",
    "network",
    "checkpoint",
    "shape_mismatch",
    "dtype_mismatch",
    "device_mismatch",
    "div_zero",
    "assertion",
    "runtime_error",
    "traceback",
    "host_oom",
    "oom_killer",
    "killed_unknown",
    "segfault",
    "shared_memory",
    "too_many_files",
    "disk_full",
    "filesystem_io",
    "cuda_oom",
    "cuda_runtime",
    "gpu_hardware",
    "throttling",
    "rendezvous",
    "collective",
    "idle_hang",
    "under_utilization",
    "save_storm",
    "slow_interconnect",
    "launch_blocking",
    "straggler",
    "nan_loss",
    "not_learning",
    "resume_from_scratch",
    "undertrained",
    "node_failure",
    "preempted",
    "requeued",
    "cancelled",
    "time_limit",
    "unknown",
    "none",
)

FAMILIES: tuple[str, ...] = (
    *("A1", "A2", "B1", "B2", "B3", "C1", "C2", "C3"),
    *("D1", "D2", "D3", "E1", "E2", "E3", "F1", "F2", "F3", "G1"),
)

FAULT_CLASSES: tuple[str, ...] = (
    *("asset", "cluster", "code", "config", "data", "env", "hang", "hardware", "limits"),
    *("memory", "memory_plan", "native", "network", "signal", "storage", "throughput", "training"),
)
"""Refinements of the families.  A program that fails with ``training`` may exit with status 0."""

NO_CAUSES = frozenset({"none", "unknown"})
"""Names for no known cause: no failure was found, or it is not known whether there was one."""

GENERIC_CAUSES = frozenset({"runtime_error", "traceback", "assertion"})
"""Causes that name only the form of an error; every more specific cause has precedence."""

COMMUNICATION_CAUSES = frozenset({"collective", "rendezvous", "idle_hang"})
"""Causes reported by ranks that wait for others; a root only if no other cause is."""

EXPLAINED_BY = {
    "shared_memory": "too_many_files",
    "filesystem_io": "disk_full",
    "preempted": "disk_full",
    "cuda_environment": "gpu_hardware",
    "idle_hang": "collective",
}
"""For each cause, another cause that explains it if both are observed."""

_OUTSIDE = ("oom_killer", "preempted", "node_failure", "time_limit", "idle_hang", "cancelled")
EXPLAINED_IN_WORDS = {
    "killed_unknown": frozenset(_OUTSIDE),
    "cancelled": frozenset(_OUTSIDE) - {"cancelled"},
    "segfault": frozenset({"gpu_hardware", "cuda_environment", "shared_memory", "idle_hang"}),
    "cuda_runtime": frozenset({"gpu_hardware"}),
    "div_zero": frozenset({"data", "file_not_found", "asset"}),
    "traceback": frozenset(
        {
            *("asset", "file_not_found", "permission", "network", "data", "checkpoint"),
            "disk_full",
        }
    ),
    "runtime_error": frozenset(
        {
            *("asset", "file_not_found", "permission", "network", "data", "checkpoint"),
            *("disk_full", "config", "missing_module", "dependency", "cuda_environment"),
            *("gpu_hardware", "nan_loss", "idle_hang", "preempted", "node_failure"),
        }
    ),
    "collective": frozenset({"gpu_hardware", "node_failure", "preempted"}),
    "node_failure": frozenset({"preempted"}),
    "time_limit": frozenset({"idle_hang"}),
}
"""For each cause that only describes how a run ended, the causes that explain it if a program or a
site's tool names one in its own words."""

ANNOUNCED_CAUSES = frozenset({"time_limit", "preempted", "node_failure", "cancelled"})
"""Causes outside the job that are announced before the end."""

LASTING_STATES = frozenset({"nan_loss"})
"""Causes that are a lasting state: a training that continues has not recovered from it."""

MISMATCH_CAUSES = frozenset({"shape_mismatch", "dtype_mismatch", "device_mismatch"})
"""Causes that become ``checkpoint`` while a checkpoint is loaded."""

SLOW_CAUSES = frozenset(
    {
        *("throttling", "under_utilization", "save_storm", "slow_interconnect"),
        *("launch_blocking", "straggler"),
    }
)
"""Causes of a slow training, whose result is nevertheless good."""

RESOURCE_CAUSES = frozenset(
    {
        *("cuda_oom", "oom_killer", "host_oom", "shared_memory", "too_many_files", "disk_full"),
        "gpu_hardware",
    }
)
"""Causes outside the program: an exception that follows from one is not a root cause."""

CAUSES_OF_SIGNALS: dict[int, str] = {
    signal.SIGKILL: "killed_unknown",
    signal.SIGSEGV: "segfault",
    signal.SIGBUS: "segfault",
    signal.SIGILL: "segfault",
    signal.SIGFPE: "segfault",
}
"""Causes that the signal alone names.  SIGABRT follows a message, and SIGTERM comes from others."""

SIGNAL_CAUSES = frozenset({"killed_unknown", "segfault", "cancelled"})
"""Causes that name the signal, but not the reason for it."""
