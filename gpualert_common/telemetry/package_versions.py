"""Installed versions of Python and of relevant packages, found without running Python."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping

from gpualert_common.processes.procfs import read_command, read_cwd

PACKAGES = frozenset(
    (
        "accelerate", "bitsandbytes", "datasets", "deepspeed", "flash_attn", "flax", "jax",
        "jaxlib", "keras", "lightning", "megatron_core", "nemo_toolkit", "numpy", "optax", "peft",
        "pytorch_lightning", "ray", "tensorflow", "torch", "torchvision", "transformers", "triton",
        "trl", "unsloth", "vllm", "xformers",
    )
)  # fmt: skip


def find_versions(pid: int, environment: Mapping[str, str]) -> dict[str, str]:
    """Return the versions of Python and packages of a process; empty if there are none.

    They come from the names of folders.  ``environment`` is the environment of the process.  If a
    shell is to start Python, the active virtual environment decides.
    """
    for prefix, running in _find_prefixes(pid, environment):
        for name in [running] if running else _list_pythons(prefix):
            found: dict[str, str] = {}
            for folder in _list_folders(prefix, name):
                found |= dict(_list_packages(folder))
            if found:
                return {"python": name.removeprefix("python"), "prefix": prefix, **found}
    return {}


def _find_prefixes(pid: int, environment: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield folders that may hold its packages, each with the name of the Python that runs."""
    program = next(iter(read_command(pid)), "")
    name = os.path.basename(program)
    if name.startswith("python"):
        path = program if "/" in program else _find_in_path(name, environment.get("PATH", ""))
        running = _find_python_name(pid)
        if path:  # do not resolve links: a virtual environment's Python points outside
            yield os.path.dirname(os.path.dirname(os.path.join(read_cwd(pid), path))), running
    for variable in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        if environment.get(variable):
            yield environment[variable], ""


def _find_python_name(pid: int) -> str:
    """Return the name of its Python with the version, as in "python3.12"; "" for any other name."""
    try:
        name = os.path.basename(os.readlink(f"/proc/{pid}/exe"))
    except OSError:
        return ""
    return name if _is_versioned(name) else ""


def _list_pythons(prefix: str) -> list[str]:
    try:
        return sorted(filter(_is_versioned, os.listdir(os.path.join(prefix, "lib"))))
    except OSError:
        return []


def _is_versioned(name: str) -> bool:
    return name.startswith("python3.") and name.removeprefix("python3.").isdecimal()


def _list_folders(prefix: str, python: str) -> list[str]:
    """Return the package folders of a Python; Debian's also has one below /usr/local."""
    prefixes = [prefix, "/usr/local"] if prefix == "/usr" else [prefix]
    names = ("site-packages", "dist-packages")
    return [os.path.join(one, "lib", python, name) for one in prefixes for name in names]


def _find_in_path(name: str, path: str) -> str:
    candidates = (os.path.join(folder, name) for folder in path.split(":"))
    return next((one for one in candidates if os.access(one, os.X_OK)), "")


def _list_packages(folder: str) -> Iterator[tuple[str, str]]:
    try:
        entries = os.listdir(folder)
    except OSError:
        return
    for entry in entries:
        name, _, version = entry.removesuffix(".dist-info").partition("-")
        if entry.endswith(".dist-info") and name.lower() in PACKAGES:
            yield name.lower(), version
