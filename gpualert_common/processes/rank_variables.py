"""Variables of a process that say which rank it is, under the names that PyTorch uses.

TensorFlow has them in TF_CONFIG, and programs that are started without a launcher in their
arguments.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from gpualert_common.command_options import parse_options

_RANK_OPTIONS = ("process_id", "process_index", "rank", "task_index")
_SIZE_OPTIONS = ("num_processes", "process_count", "world_size", "num_tasks")
"""Options of a program.  A rank counts only with a size, since a matrix has a rank, too."""
_COORDINATORS = ("JAX_COORDINATOR_ADDRESS", "MASTER_ADDR")
_COORDINATOR_OPTIONS = ("coordinator_address", "coordinator", "master_addr")
_LOOPBACK = ("127.", "localhost", "[::1]", "::1")
_MOST_DIGITS = 9


def read_rank_variables(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the environment, with the rank and size that TF_CONFIG has, and the local ones where
    all ranks are on one machine."""
    found = {**_read_tensorflow(environment.get("TF_CONFIG", "")), **environment}
    address = next((environment[name] for name in _COORDINATORS if name in environment), "")
    return _add_local(found, address)


def read_rank_arguments(command: Sequence[str]) -> dict[str, str]:
    """Return rank and size in the arguments of a program as variables; empty without both."""
    text = " ".join(command).lower().replace("-", "_")
    if not any(name in text for name in _RANK_OPTIONS):
        return {}  # most commands, which need not be taken apart
    options: dict[str, str] = {}
    for name, value in parse_options(command):
        options.setdefault(name, value)
    rank = next((options[name] for name in _RANK_OPTIONS if name in options), "")
    size = next((options[name] for name in _SIZE_OPTIONS if name in options), "")
    if not (is_count(rank) and is_count(size)) or int(rank) >= int(size):
        return {}
    address = next((options[name] for name in _COORDINATOR_OPTIONS if name in options), "")
    return _add_local({"RANK": rank, "WORLD_SIZE": size}, address)


def is_count(text: str) -> bool:
    """Return whether a text is a number of a rank, or of ranks."""
    return text.isdecimal() and len(text) <= _MOST_DIGITS


def _read_tensorflow(text: str) -> dict[str, str]:
    """Return the rank among chief and workers; a parameter server or an evaluator is none."""
    try:
        config = json.loads(text) if text else {}
        workers = [
            (kind, index, str(address))
            for kind in ("chief", "worker")
            for index, address in enumerate(config["cluster"].get(kind, ()))
        ]
        own = (config["task"]["type"], int(config["task"]["index"]))
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError):
        return {}
    members = [(kind, index) for kind, index, _address in workers]
    if own not in members:
        return {}
    found = {"RANK": str(members.index(own)), "WORLD_SIZE": str(len(members))}
    is_local = all(address.startswith(_LOOPBACK) for _kind, _index, address in workers)
    return _add_local(found, "127.0.0.1" if is_local else "")


def _add_local(variables: dict[str, str], address: str) -> dict[str, str]:
    """Return variables with local rank and size, if the address of the coordinator shows that all
    ranks are on this machine."""
    rank = variables.get("RANK", variables.get("JAX_PROCESS_ID", ""))
    size = variables.get("WORLD_SIZE", variables.get("JAX_NUM_PROCESSES", ""))
    if address.startswith(_LOOPBACK) and is_count(rank) and is_count(size):
        return {"LOCAL_RANK": rank, "LOCAL_WORLD_SIZE": size, **variables}
    return variables
