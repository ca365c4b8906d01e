"""Announcement of a distributed run: where its processes are to meet, and how many they are.

Read from the environments and arguments of its processes, as launchers and frameworks define them:
the variables of ``env://``, torchrun, ``accelerate launch``, ``tcp://`` addresses, JAX, TF_CONFIG,
and Slurm for the names of nodes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from gpualert_common.command_options import parse_options
from gpualert_common.coordinator.node_names import expand_node_names
from gpualert_common.processes.launchers import find_launcher
from gpualert_common.structs import Struct, replace

_MOST_ENDPOINTS = 8
_MOST_DIGITS = 7
_STATIC_PORT, _C10D_PORT = 29500, 29400
"""Ports of torchrun where the command gives none."""
_Getter = Callable[..., str]
"""Returns the first option or variable of these names that is given, else ""."""
_ADDRESS = re.compile(
    r"(?:\w+://)?(\[[0-9a-zA-Z:.%_-]+\]|[^\s:/\[\]]+)(?::([0-9]{1,5}))?(?:[/?].*)?"
)


class Endpoint(Struct, frozen=True):
    """An address at which processes meet; ``member`` names the one process that listens there, if
    each has an address of its own."""

    host: str
    port: int
    named_by: str
    member: str = ""

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"


class Announcement(Struct, frozen=True):
    """The start of a distributed run as one process announces it; None for what is not said.

    ``launcher`` is the program that meets the other nodes before it starts ranks, "" for a rank.
    """

    endpoints: tuple[Endpoint, ...] = ()
    launcher: str = ""
    rank: int | None = None
    world_size: int | None = None
    nodes: int | None = None
    node_rank: int | None = None
    node_names: tuple[str, ...] = ()


def read_announcement(environment: Mapping[str, str], command: Sequence[str]) -> Announcement:
    """Return the announcement of a process, without an endpoint if it announces none."""
    launcher = find_launcher(command)
    if launcher:
        found = _read_launcher(launcher, environment, command)
    else:
        found = _read_variables(environment, command)
    return _with_slurm(found, environment)


def parse_address(text: str, named_by: str, default_port: int | None = None) -> Endpoint | None:
    """Return the endpoint of "HOST:PORT" or "tcp://HOST:PORT"; None without a usable port."""
    found = _ADDRESS.fullmatch(text.strip())
    if found is None:
        return None
    port = int(found[2]) if found[2] else default_port
    if not port or port > 65535:
        return None
    return Endpoint(found[1].strip("[]"), port, named_by)


def _read_launcher(
    launcher: str, environment: Mapping[str, str], command: Sequence[str]
) -> Announcement:
    options = _first_options(command)

    def get(*names: str) -> str:
        given = (options.get(one) or environment.get(f"PET_{one.upper()}") for one in names)
        return next((one for one in given if one), "")

    nodes = _parse_number(get("nnodes", "num_machines").partition(":")[0])
    endpoint = _find_meeting_point(launcher, options, get)
    return Announcement(
        endpoints=() if endpoint is None else (endpoint,),
        launcher=launcher,
        nodes=nodes or (1 if launcher == "torchrun" else None),
        node_rank=_parse_number(get("node_rank", "machine_rank")),
    )


def _find_meeting_point(launcher: str, options: Mapping[str, str], get: _Getter) -> Endpoint | None:
    if launcher == "accelerate":
        port = get("main_process_port") or str(_STATIC_PORT)
        return _join_address(get("main_process_ip"), port, "--main_process_ip")
    if "standalone" in options or get("standalone"):
        return None  # it takes a free port
    backend = get("rdzv_backend") or "static"
    if given := get("rdzv_endpoint"):
        default_port = {"static": _STATIC_PORT, "c10d": _C10D_PORT}.get(backend)
        return parse_address(given, "--rdzv-endpoint", default_port)
    if backend != "static":
        return None
    host, port_text = get("master_addr") or "127.0.0.1", get("master_port") or str(_STATIC_PORT)
    return _join_address(host, port_text, "--master-addr")


def _join_address(host: str, port: str, named_by: str) -> Endpoint | None:
    """Return the endpoint of a host, also of an IPv6 address without brackets, and a port."""
    is_bare = ":" in host and not host.startswith("[")
    return parse_address(f"[{host}]:{port}" if is_bare else f"{host}:{port}", named_by)


def _read_variables(environment: Mapping[str, str], command: Sequence[str]) -> Announcement:
    def get_number(*names: str) -> int | None:
        given = (_parse_number(environment.get(one, "")) for one in names)
        return next((one for one in given if one is not None), None)

    size = get_number("WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "JAX_NUM_PROCESSES")
    local_size = get_number("LOCAL_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS")
    nodes = get_number("GROUP_WORLD_SIZE", "NNODES")
    if nodes is None and size and local_size and size % local_size == 0:
        nodes = size // local_size
    found = Announcement(
        endpoints=tuple(_list_endpoints(environment, command))[:_MOST_ENDPOINTS],
        rank=get_number("RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "JAX_PROCESS_ID"),
        world_size=size,
        nodes=nodes,
        node_rank=get_number("GROUP_RANK", "NODE_RANK"),
    )
    return _with_tensorflow(found, environment.get("TF_CONFIG", ""))


def _list_endpoints(environment: Mapping[str, str], command: Sequence[str]) -> Iterator[Endpoint]:
    """Yield the endpoint that counts: an argument of the program before its variables."""
    options = _first_options(command)
    for name in ("coordinator_address", "init_method", "dist_url", "dist_init_method"):
        given = options.get(name, "")
        is_address = name == "coordinator_address" or given.startswith("tcp://")
        if is_address and (found := parse_address(given, _show_option(name))) is not None:
            yield found
            return
    coordinator = environment.get("JAX_COORDINATOR_ADDRESS", "")
    host, port = environment.get("MASTER_ADDR", ""), environment.get("MASTER_PORT", "")
    found = (
        parse_address(coordinator, "JAX_COORDINATOR_ADDRESS")
        if coordinator
        else _join_address(host, port, "MASTER_ADDR")
    )
    if found is not None:
        yield found


def _with_tensorflow(found: Announcement, text: str) -> Announcement:
    """Return an announcement with the members of TF_CONFIG other than the process itself."""
    try:
        config = json.loads(text) if text else {}
        own = (config["task"]["type"], int(config["task"]["index"]))
        members = {
            (kind, index): parse_address(address, "TF_CONFIG")
            for kind, addresses in config["cluster"].items()
            for index, address in enumerate(addresses)
        }
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError):
        return found
    others = tuple(
        replace(endpoint, member=f"{kind} {index}")
        for (kind, index), endpoint in members.items()
        if endpoint is not None and (kind, index) != own
    )
    return replace(
        found,
        endpoints=(*found.endpoints, *others)[:_MOST_ENDPOINTS],
        world_size=found.world_size or len(members) or None,
    )


def _with_slurm(found: Announcement, environment: Mapping[str, str]) -> Announcement:
    """Return an announcement with Slurm's names of the nodes, and their number if not known."""
    listed = environment.get("SLURM_STEP_NODELIST") or environment.get("SLURM_JOB_NODELIST", "")
    names = expand_node_names(listed)
    rank = _parse_number(environment.get("SLURM_NODEID", ""))
    if found.nodes is not None and found.nodes != len(names):
        names = ()  # the run is a part of the job
    has_size = found.nodes is not None or found.world_size is not None
    return replace(
        found,
        node_names=names,
        nodes=found.nodes if has_size or not names else len(names),
        node_rank=rank if found.node_rank is None else found.node_rank,
    )


def _first_options(command: Sequence[str]) -> dict[str, str]:
    """Return the options of a command by names; the first of a name counts, as it is the
    launcher's."""
    found: dict[str, str] = {}
    for name, value in parse_options(command):
        found.setdefault(name, value)
    return found


def _parse_number(text: str) -> int | None:
    return int(text) if text.isdecimal() and len(text) <= _MOST_DIGITS else None


def _show_option(name: str) -> str:
    return "--" + name.replace("_", "-")
