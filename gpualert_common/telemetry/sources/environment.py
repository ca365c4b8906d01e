"""Environment of a run: variables that explain failures, kernel, processors, versions.

Read once from /proc.  Only listed variables are recorded, and none whose name or value looks like a
secret.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from typing import Any

from gpualert_common.processes.procfs import (
    await_environment,
    parse_environment,
    parse_numbers,
    read,
    read_stat,
)
from gpualert_common.telemetry.package_versions import find_versions
from gpualert_common.telemetry.source import (
    ObservedRun,
    Sample,
    Source,
    SourceEvent,
    SourceUnavailableError,
)

_VARIABLES = frozenset(
    (
        "CONDA_PREFIX", "GLOO_SOCKET_IFNAME", "GROUP_RANK", "HF_DATASETS_OFFLINE", "HF_HOME",
        "HF_HUB_OFFLINE", "LD_LIBRARY_PATH", "LD_PRELOAD", "LOCAL_RANK", "LOCAL_WORLD_SIZE",
        "MALLOC_ARENA_MAX", "MASTER_ADDR", "MASTER_PORT", "MKL_NUM_THREADS", "NODE_RANK",
        "NVIDIA_VISIBLE_DEVICES", "PYTHONFAULTHANDLER", "PYTHONPATH", "PYTHONUNBUFFERED", "RANK",
        "SLURM_ARRAY_JOB_ID", "SLURM_ARRAY_TASK_ID", "SLURM_CLUSTER_NAME", "SLURM_CPUS_PER_TASK",
        "SLURM_GPUS_ON_NODE", "SLURM_JOB_END_TIME", "SLURM_JOB_GPUS", "SLURM_JOB_ID",
        "SLURM_JOB_NODELIST", "SLURM_JOB_NUM_NODES", "SLURM_JOB_PARTITION", "SLURM_JOB_START_TIME",
        "SLURM_LOCALID", "SLURM_MEM_PER_CPU", "SLURM_MEM_PER_GPU", "SLURM_MEM_PER_NODE",
        "SLURM_NODEID", "SLURM_NTASKS", "SLURM_PROCID", "SLURM_RESTART_COUNT", "SLURM_STEP_ID",
        "SLURMD_NODENAME", "TF_CONFIG", "TMPDIR", "TRANSFORMERS_OFFLINE", "VIRTUAL_ENV",
        "WANDB_MODE", "WORLD_SIZE",
    )
)  # fmt: skip
_PREFIXES = (
    "ACCELERATE_", "CUBLAS_", "CUDA_", "CUDNN_", "DS_ACCELERATOR", "DS_BUILD_", "FI_", "FSDP_",
    "HIP_", "HSA_", "JAX_", "KMP_", "MIOPEN_", "NCCL_", "NVTE_", "OMPI_COMM_WORLD_", "OMP_", "PET_",
    "PMI_", "PYTORCH_", "RCCL_", "ROCR_", "TF_CPP_", "TF_DETERMINISTIC_", "TF_ENABLE_", "TF_FORCE_",
    "TF_GPU_", "TF_NUM_", "TF_XLA_", "TORCH", "UCX_", "XLA_",
)  # fmt: skip
"""TF_ alone is too short: variables of Terraform start with it, too."""
_SECRET_NAME = re.compile(r"TOKEN|KEY|SECRET|PASS|CREDENTIAL|AUTH|COOKIE|SESSION|DSN")
_SECRET_VALUE = re.compile(r"://[^/\s]*@")
_MOST_VALUE_CHARS = 500
_MOST_VARIABLES = 200


class Environment(Source):
    """Facts only: ``variables``, ``secrets_left_out`` (their number), ``hostname``, ``kernel``,
    ``machine``, ``cpus``, ``cpus_allowed``, ``memory_bytes``, ``swap_bytes``, ``versions`` (of
    Python and of training libraries, if they can be found without running anything)."""

    decides = (
        "slow settings, by CUDA_LAUNCH_BLOCKING; supports failed starts, rendezvous and "
        "preemptions, by versions, addresses of ranks, and restarts"
    )

    def __init__(self, run: ObservedRun | None) -> None:
        pid = os.getpid() if run is None else run.pid
        found = read_stat(pid)
        if found is None or not found.is_live:
            raise SourceUnavailableError(
                "the run's leader has ended, and its environment cannot be read"
            )
        try:
            open(f"/proc/{pid}/environ", "rb").close()
        except OSError as error:
            why = f"the environment of the run's leader cannot be read: {error.strerror}"
            raise SourceUnavailableError(why, "run as the same user, or as root") from None
        variables = parse_environment(await_environment(pid))
        self._facts = {
            **_select_variables(variables),
            **_read_machine(pid),
            "versions": find_versions(pid, variables),
        }

    @property
    def facts(self) -> Mapping[str, Any]:
        """All facts."""
        return self._facts

    def sample(self) -> Iterable[Sample | SourceEvent]:
        """Return nothing: the facts do not change."""
        return ()


SOURCE: type[Source] = Environment


def _select_variables(variables: Mapping[str, str]) -> dict[str, int | dict[str, str]]:
    known = {name: value for name, value in variables.items() if _is_relevant(name)}
    public = {name: value for name, value in known.items() if not is_secret(name, value)}
    selected = {name: public[name][:_MOST_VALUE_CHARS] for name in sorted(public)[:_MOST_VARIABLES]}
    return {"variables": selected, "secrets_left_out": len(known) - len(public)}


def _is_relevant(name: str) -> bool:
    return name in _VARIABLES or name.startswith(_PREFIXES)


def is_secret(name: str, value: str) -> bool:
    """Return whether a variable may hold a secret."""
    return bool(_SECRET_NAME.search(name.upper()) or _SECRET_VALUE.search(value))


def _read_machine(pid: int) -> dict[str, int | str | None]:
    memory = parse_numbers(read("/proc/meminfo"))
    host = os.uname()
    machine: dict[str, int | str | None] = {
        "hostname": host.nodename,
        "kernel": host.release,
        "machine": host.machine,
        "cpus": os.cpu_count(),
        "memory_bytes": memory.get("MemTotal", 0) * 1024,
        "swap_bytes": memory.get("SwapTotal", 0) * 1024,
    }
    try:
        machine["cpus_allowed"] = len(os.sched_getaffinity(pid))
    except OSError:
        pass  # the process has just ended
    return machine
