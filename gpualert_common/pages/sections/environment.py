"""The environment of the run: machine, limits, versions, options, and names of variables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from gpualert_common.pages.reported_run import ReportedRun
from gpualert_common.pages.sections._interface import Room, Section
from gpualert_common.quantities import is_number
from gpualert_common.report.formatting import duration, size
from gpualert_common.report.run_facts import Fact
from gpualert_common.structs import Struct

_MOST_VERSIONS = 60
_MOST_VARIABLES = 200


class RunEnvironment(Struct, frozen=True):
    """Facts with their labels; versions by package; names of variables, without values."""

    machine: tuple[Fact, ...]
    versions: tuple[Fact, ...]
    variables: tuple[str, ...]
    variables_left_out: int


def _collect(run: ReportedRun, room: Room) -> RunEnvironment | None:
    source = run.telemetry.sources.get("environment")
    facts: Mapping[str, object] = source.facts if source else {}
    text = run.text
    machine = [(label, text.line(value)) for label, value in _describe_machine(run, facts)]
    versions = _get_mapping(facts, "versions")
    named = sorted({*_get_mapping(facts, "variables"), *run.spec.environment})
    most = room.limit(_MOST_VARIABLES)
    return RunEnvironment(
        machine=tuple((label, value) for label, value in machine if value),
        versions=tuple(
            (text.line(name), text.line(str(value)))
            for name, value in sorted(versions.items())[: room.limit(_MOST_VERSIONS)]
        ),
        variables=tuple(text.line(name, 100) for name in named[:most]),
        variables_left_out=max(0, len(named) - most),
    )


def _get_mapping(facts: Mapping[str, object], name: str) -> dict[str, object]:
    found = facts.get(name)
    return {str(key): value for key, value in found.items()} if isinstance(found, dict) else {}


def _describe_machine(run: ReportedRun, facts: Mapping[str, object]) -> Iterator[Fact]:
    spec = run.spec
    yield "Host", str(facts.get("hostname") or spec.host or "")
    yield "Kernel", " ".join(str(facts[key]) for key in ("kernel", "machine") if facts.get(key))
    yield "Processors", _describe_processors(facts)
    yield "Memory", _describe_memory(facts)
    yield from _describe_limits(run)
    yield "Boot", spec.boot_id or ""
    yield "User", "" if spec.uid is None else f"uid {spec.uid}"
    yield "Time limit", "" if spec.timeout_s is None else duration(spec.timeout_s)
    yield "Hang limit", "" if spec.hang_timeout_s is None else duration(spec.hang_timeout_s)


def _describe_processors(facts: Mapping[str, object]) -> str:
    cpus, allowed = facts.get("cpus"), facts.get("cpus_allowed")
    if not cpus:
        return ""
    return f"{cpus}" if allowed in (None, cpus) else f"{cpus}, of which the run may use {allowed}"


def _describe_memory(facts: Mapping[str, object]) -> str:
    memory, swap = facts.get("memory_bytes"), facts.get("swap_bytes")
    if not is_number(memory) or not memory:
        return ""
    return size(memory) + (f", swap {size(swap)}" if is_number(swap) and swap else "")


def _describe_limits(run: ReportedRun) -> Iterator[Fact]:
    """Yield the limits of the run's cgroup."""
    memory = run.telemetry.series("cgroup", "memory_limit_bytes")
    cores = run.telemetry.series("cgroup", "cpu_limit_cores")
    pids = run.telemetry.series("cgroup", "pids_limit")
    yield "Memory limit", f"{size(int(memory.last))} (cgroup)" if memory else ""
    yield "Processor limit", f"{cores.last:g} cores (cgroup)" if cores else ""
    yield "Process limit", f"{pids.last:.0f} (cgroup)" if pids else ""


SECTION = Section("Environment", order=70, most_bytes=30_000, collect=_collect)
