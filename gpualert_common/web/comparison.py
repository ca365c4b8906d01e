"""Comparison of two runs: results, differences of command and environment, losses and rates."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping

from markupsafe import Markup

from gpualert_common.charts.comparison import compare_progress
from gpualert_common.charts.drawing import ChartsUnavailableError, draw_svg
from gpualert_common.charts.summary import SummaryRow, summarize_panels
from gpualert_common.charts.timeline import Timeline
from gpualert_common.current_condition import find_unsupervised
from gpualert_common.listing.run_summary import RunSummary, summarize
from gpualert_common.progress import Progress
from gpualert_common.record import Record
from gpualert_common.redact import Redactor
from gpualert_common.report.formatting import size
from gpualert_common.report.text_sanitizer import TextSanitizer
from gpualert_common.run_progress import read_progress
from gpualert_common.structs import Struct
from gpualert_common.telemetry.series import Telemetry
from gpualert_common.web.run_rows import RunRow, make_row
from gpualert_common.web.step_text import format_count

_MOST_LOG_BYTES = 32 << 20
"""End of each log that is read: a second's work."""
_MOST_ROWS = 500
_HIDDEN_VARIABLES = frozenset({"RANK", "LOCAL_RANK", "SLURM_JOB_ID", "SLURM_STEP_ID"})
"""They differ between all runs."""


class ComparedFact(Struct, frozen=True):
    """A fact of both runs, "" where it is unknown or absent."""

    name: str
    values: tuple[str, str]

    @property
    def is_different(self) -> bool:
        """True if the runs differ in it."""
        return self.values[0] != self.values[1]


class FactGroup(Struct, frozen=True):
    """Facts of one kind; the equal ones are counted and listed apart."""

    title: str
    different: tuple[ComparedFact, ...]
    equal: tuple[ComparedFact, ...]


class RunComparison(Struct, frozen=True):
    """Two runs side by side; ``notes`` say what was not read.

    ``picture`` has losses and rates over the steps, ``problem`` the reason why there is none, and
    ``numbers`` the same in numbers.
    """

    rows: tuple[RunRow, RunRow]
    results: tuple[ComparedFact, ...]
    groups: tuple[FactGroup, ...]
    picture: Markup
    problem: str
    numbers: tuple[SummaryRow, ...]
    notes: tuple[str, ...]


class _Side(Struct, frozen=True):
    """One of the two runs, as read."""

    row: RunRow
    summary: RunSummary
    progress: Progress
    has_environment: bool
    basics: Mapping[str, str]
    versions: Mapping[str, str]
    variables: Mapping[str, str]


def compare_runs(first: Record, second: Record) -> RunComparison:
    """Return the comparison of two runs.  Raises RecordError if a record cannot be read."""
    text = TextSanitizer(Redactor())
    one, other = _read_side(first, text), _read_side(second, text)
    known = one.basics.keys() & other.basics.keys()  # the others are unknown for one of them
    basics = [
        {name: side.basics[name] for name in side.basics if name in known} for side in (one, other)
    ]
    groups = [_compare("Command and host", *basics)]
    if one.has_environment and other.has_environment:
        groups.append(_compare("Versions", one.versions, other.versions))
        groups.append(_compare("Variables", one.variables, other.variables))
    timeline = compare_progress((("A", one.progress), ("B", other.progress)), text)
    picture, problem = _draw(timeline)
    return RunComparison(
        rows=(one.row, other.row),
        results=tuple(_compare_results(one, other)),
        groups=tuple(group for group in groups if group.different or group.equal),
        picture=picture,
        problem=text.line(problem),
        numbers=summarize_panels(timeline),
        notes=tuple(_note(one, other)),
    )


def _read_side(record: Record, text: TextSanitizer) -> _Side:
    telemetry = Telemetry()
    telemetry.read(record)
    summary = find_unsupervised(summarize(record))
    environment = _read_facts(telemetry, "environment")
    return _Side(
        row=make_row(summary, text),
        summary=summary,
        progress=read_progress(record, most_bytes=_MOST_LOG_BYTES),
        has_environment=bool(environment),
        basics={name: text.prose(one) for name, one in _list_basics(record, telemetry) if one},
        versions=_read_texts(environment.get("versions"), text),
        variables=_read_texts(environment.get("variables"), text),
    )


def _list_basics(record: Record, telemetry: Telemetry) -> Iterator[tuple[str, str]]:
    spec = record.spec
    environment = _read_facts(telemetry, "environment")
    yield "Command", shlex.join(spec.command)
    yield "Directory", spec.cwd or ""
    yield "Host", spec.host or ""
    yield "Kernel", str(environment.get("kernel") or "")
    yield "Processors", str(environment.get("cpus_allowed") or environment.get("cpus") or "")
    memory = environment.get("memory_bytes")
    yield "Memory", size(memory) if isinstance(memory, int) else ""
    nvml = _read_facts(telemetry, "nvml")
    gpus = nvml.get("gpus")
    known = gpus if isinstance(gpus, list) else []
    names = [str(gpu.get("name")) for gpu in known if isinstance(gpu, dict)]
    yield "GPUs", ", ".join(f"{names.count(name)} x {name}" for name in dict.fromkeys(names))
    yield "GPU driver", str(nvml.get("driver_version") or "")
    limit = spec.timeout_s
    yield "Time limit", "none" if limit is None else f"{limit:g} s"


def _read_facts(telemetry: Telemetry, source: str) -> Mapping[str, object]:
    found = telemetry.sources.get(source)
    return found.facts if found is not None and isinstance(found.facts, dict) else {}


def _read_texts(value: object, text: TextSanitizer) -> dict[str, str]:
    """Return a mapping of a record's file with its names and values made safe."""
    if not isinstance(value, dict):
        return {}
    kept = [one for one in list(value.items())[:_MOST_ROWS] if one[0] not in _HIDDEN_VARIABLES]
    # Together, so that a name such as PASSWORD makes its value recognizable.
    masked = [text.prose(f"{name}={one}").partition("=") for name, one in kept]
    return {name: one for name, _equals, one in masked}


def _compare(title: str, one: Mapping[str, str], other: Mapping[str, str]) -> FactGroup:
    names = list(dict.fromkeys((*one, *other)))
    facts = [ComparedFact(name, (one.get(name, ""), other.get(name, ""))) for name in names]
    facts = [fact for fact in facts if any(fact.values)]
    return FactGroup(
        title,
        tuple(fact for fact in facts if fact.is_different),
        tuple(fact for fact in facts if not fact.is_different),
    )


def _compare_results(one: _Side, other: _Side) -> Iterator[ComparedFact]:
    rows = one.row, other.row
    yield ComparedFact("Cause", (rows[0].cause, rows[1].cause))
    yield ComparedFact("Started", (rows[0].started, rows[1].started))
    yield ComparedFact("Lasted", (rows[0].lasted, rows[1].lasted))
    yield ComparedFact("GPU-hours", (rows[0].gpu_hours, rows[1].gpu_hours))
    exits = ["" if it.shell_code is None else str(it.shell_code) for it in _summaries(one, other)]
    yield ComparedFact("Exit status", (exits[0], exits[1]))
    steps = [side.progress.counts.last_step for side in (one, other)]
    shown = ["" if step is None else format_count(step) for step in steps]
    yield ComparedFact("Last step", (shown[0], shown[1]))
    losses = [_find_last_loss(side.progress) for side in (one, other)]
    yield ComparedFact("Last loss", (losses[0], losses[1]))


def _summaries(one: _Side, other: _Side) -> tuple[RunSummary, RunSummary]:
    return one.summary, other.summary


def _find_last_loss(progress: Progress) -> str:
    losses = [point.loss for point in progress.points if point.loss is not None]
    return f"{losses[-1]:.4g}" if losses else ""


def _draw(timeline: Timeline) -> tuple[Markup, str]:
    """Return the picture; without one, the reason."""
    if not timeline.panels:
        return Markup(), ""
    try:
        return Markup(draw_svg(timeline)), ""
    except ChartsUnavailableError as error:
        return Markup(), str(error)


def _note(one: _Side, other: _Side) -> Iterator[str]:
    for name, side in (("A", one), ("B", other)):
        if side.progress.unread_bytes:
            yield f"{name}: of its log, only the begin and the last part were read."
        if not side.has_environment:
            yield f"{name}: its environment was not recorded."
