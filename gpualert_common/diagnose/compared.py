"""What earlier runs of the same training say of one: whether it was slow, and what is different.

They are in the history, ``history.sqlite3`` in the state directory: what a run used and did, the
settings that make trainings slow or fast, and versions.  A training is known by its command and
directory, without seeds, ports, dates and ids of runs.  A run of more than a second is compared
with the newest twenty that went well, on as many GPUs of the same model, and with none of the
earlier attempts at its own task.  Steps are compared by the time that they took, which the program
tells or the clock, or by the throughput that it tells; whole runs where they did about as many
steps.  Where too few can be compared, or the history cannot be read, the verdict names that among
its sources.

Whether code and data were changed is not known.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpualert_common.diagnose import thresholds
from gpualert_common.diagnose.evidence import Evidence, seen
from gpualert_common.model import Claim
from gpualert_common.telemetry.series import SourceAvailability

if TYPE_CHECKING:
    from gpualert_common.history import Baseline, EarlierRuns, PastRun, Spread

HISTORY = "history"


@dataclass(frozen=True, slots=True)
class Slower:
    """A run that was slower than ``usual``; ``said`` is a sentence with figures, ``ratio`` by how
    much.

    ``whole`` says that its steps were not: only the time in all.  ``alike`` is False where the
    earlier runs were on other GPUs, which decides nothing.
    """

    ratio: float
    said: str
    usual: Baseline
    whole: bool = False
    alike: bool = True


def as_source(recalled: EarlierRuns) -> SourceAvailability:
    """What a verdict says of the history as a source."""
    if recalled.problem:
        return SourceAvailability(HISTORY, available=False, why=recalled.problem)
    well = sum(run.is_healthy for run in recalled.runs)
    if well >= thresholds.EARLIER_RUNS:
        return SourceAvailability(HISTORY, available=True)
    of = "1 earlier run" if well == 1 else f"{well or 'no'} earlier runs"
    why = f"{of} of this command went well, and {thresholds.EARLIER_RUNS:.0f} are needed"
    return SourceAvailability(HISTORY, available=False, why=why)


def alike(evidence: Evidence) -> list[PastRun]:
    """The earlier runs that went well and can be compared with this one, newest first."""
    gpus = len(evidence.gpus) or None
    model = evidence.gpu_model
    return [
        run
        for run in evidence.observed.earlier
        if run.is_healthy
        and (gpus is None or run.gpus in (None, gpus))
        and (model is None or run.gpu_model in (None, model))
    ]


def usual(evidence: Evidence) -> Baseline | None:
    """What is usual for its training, None where too few runs tell."""
    return _baseline(alike(evidence))


def _baseline(runs: Iterable[PastRun]) -> Baseline | None:
    known = list(runs)
    if len(known) < thresholds.EARLIER_RUNS:
        return None
    from gpualert_common.history import baseline  # most runs have none before them

    return baseline(known, int(thresholds.EARLIER_RUNS))


def slower(evidence: Evidence) -> Slower | None:
    """Whether it was slower than earlier runs; also where all runs of its host are slower."""
    if not evidence.observed.earlier or evidence.lasted_s < thresholds.LEAST_TIMED_S:
        return None
    runs = alike(evidence)
    host = evidence.observed.host
    elsewhere = [run for run in runs if run.host != host]
    found = _slower_than(evidence, runs) or _slower_than(evidence, elsewhere)
    if found is not None or _baseline(runs) is not None:
        return found
    return _slower_than_on_others(evidence)


def _slower_than_on_others(evidence: Evidence) -> Slower | None:
    """Whether it was slower than the newest runs, which were on other GPUs."""
    well = [run for run in evidence.observed.earlier if run.is_healthy]
    before = [(run.gpus, run.gpu_model) for run in well[:1]]
    found = _slower_than(evidence, [run for run in well if (run.gpus, run.gpu_model) in before])
    if found is None:
        return None
    this = _cards(len(evidence.gpus), evidence.gpu_model)
    said = f"{found.said}; those were on {_cards(*before[0])}, this one on {this}"
    return Slower(found.ratio, said, found.usual, whole=found.whole, alike=False)


def _cards(count: int | None, model: str | None) -> str:
    return f"{count or 'some'} of {model or 'unknown GPUs'}"


def _slower_than(evidence: Evidence, runs: Sequence[PastRun]) -> Slower | None:
    known = _baseline(runs)
    if known is None:
        return None
    return next(_comparisons(evidence, known), None)


def _comparisons(evidence: Evidence, known: Baseline) -> Iterator[Slower]:
    now = evidence.measured
    of = f"in {known.runs} earlier runs"
    step_s = now.get("step_time_s")
    if step_s and known.step_time_s and (ratio := _excess(float(step_s), known.step_time_s)):
        said = f"a step took {seconds(float(step_s))}, {of} {seconds(known.step_time_s.median)}"
        yield Slower(ratio, said, known)
    rate, unit = now.get("throughput"), now.get("throughput_unit")
    if rate and unit == known.throughput_unit and known.throughput:
        ratio = _lack(float(rate), known.throughput)
        if ratio:
            said = f"{float(rate):.3g} {unit}, {of} {known.throughput.median:.3g}"
            yield Slower(ratio, said, known)
    if known.duration_s and _did_the_same(evidence, known):
        ratio = _excess(evidence.lasted_s, known.duration_s)
        more_s = evidence.lasted_s - known.duration_s.median
        if ratio and more_s >= thresholds.LEAST_LONGER_S:
            said = f"it took {seconds(evidence.lasted_s)}, {of} {seconds(known.duration_s.median)}"
            told = step_s is not None or rate is not None
            yield Slower(ratio, f"{said}{', in the same steps' if told else ''}", known, whole=True)


def _did_the_same(evidence: Evidence, known: Baseline) -> bool:
    """True where as many steps were told as earlier, or as ever none."""
    steps = evidence.measured.get("steps")
    if evidence.measured.get("resumed") or (steps is None) != (known.steps is None):
        return False
    if steps is None or known.steps is None:
        return True
    apart = abs(float(steps) - known.steps.median)
    return apart <= thresholds.SAME_STEPS * known.steps.median


def _excess(now: float, usual: Spread) -> float:
    """How many times as much as usual, 0 where that is not unusual."""
    slow = now >= thresholds.SLOWER_THAN_BEFORE * usual.median and now > usual.high
    return now / usual.median if slow and usual.median else 0.0


def _lack(now: float, usual: Spread) -> float:
    slow = usual.median >= thresholds.SLOWER_THAN_BEFORE * now and now < usual.low
    return usual.median / now if slow and now else 0.0


def seconds(value: float) -> str:
    """A time for people: "0.32 s", "12.5 min", "3.1 h"."""
    if value < 120:
        return f"{value:.3g} s"
    return f"{value / 60:.3g} min" if value < 7200 else f"{value / 3600:.3g} h"


# -- what is different ---------------------------------------------------------------------------


def new_settings(evidence: Evidence) -> tuple[str, ...]:
    """NAME=VALUE of what makes a training slow or fast and no earlier run had.

    Nothing where it is not known what they had.
    """
    runs = [run for run in alike(evidence) if run.settings is not None]
    before = {word for run in runs for word in (run.settings or "").split()}
    words = str(evidence.measured.get("settings", "")).split() if runs else []
    return tuple(word for word in words if word not in before)


def cost(evidence: Evidence, slow: Slower | None) -> tuple[Claim, ...]:
    """What the history shows of a slow run: by how much, and what is different; at most two."""
    if slow is None:
        return ()
    other = "; ".join(different(evidence))
    found = [slow.said, f"different from the earlier runs: {other}" if other else ""]
    return tuple(seen(text, HISTORY) for text in found if text)


def different(evidence: Evidence) -> tuple[str, ...]:
    """What is known to be different from every earlier run, in words; at most some ten."""
    runs = alike(evidence)
    now = evidence.measured
    found = list(new_settings(evidence))
    kept = [set((run.settings or "").split()) for run in runs if run.settings is not None]
    if kept and "settings" in now:
        given = {word.partition("=")[0] for word in str(now["settings"]).split()}
        always = sorted(set.intersection(*kept))
        found += [f"no {word}" for word in always if word.partition("=")[0] not in given]
    host, hosts = evidence.observed.host, sorted({run.host for run in runs if run.host})
    if host and hosts and host not in hosts:
        found.append(f"host {host}, before {_some(hosts)}")
    cpus, counts = now.get("cpus"), sorted({run.cpus for run in runs if run.cpus})
    if cpus and counts and cpus not in counts:
        found.append(f"{cpus} processors, before {_some(list(map(str, counts)))}")
    return (*found, *_new_versions(str(now.get("versions", "")), runs))


def _new_versions(now: str, runs: Sequence[PastRun]) -> Iterator[str]:
    before: dict[str, set[str]] = {}
    for run in runs:
        for word in (run.versions or "").split():
            name, _, version = word.partition("=")
            before.setdefault(name, set()).add(version)
    for word in now.split():
        name, _, version = word.partition("=")
        if name in before and version not in before[name]:
            yield f"{name} {version}, before {_some(sorted(before[name]))}"


def _some(names: Sequence[str]) -> str:
    return " and ".join(names) if len(names) < 3 else f"{names[0]}, {names[1]} and others"


def slow_here(evidence: Evidence) -> str:
    """That the host is the slower one also for its earlier runs; "" where they do not say so."""
    host = evidence.observed.host
    runs = alike(evidence)
    here = _baseline(run for run in runs if run.host == host)
    there = _baseline(run for run in runs if run.host != host)
    if here is None or there is None or not here.step_time_s or not there.step_time_s:
        return ""
    if not _excess(here.step_time_s.median, there.step_time_s):
        return ""
    hosts = sorted({run.host for run in runs if run.host and run.host != host})
    return (
        f"a step takes {seconds(here.step_time_s.median)} in {here.runs} runs on {host}, "
        f"{seconds(there.step_time_s.median)} in {there.runs} on {_some(hosts)}"
    )
