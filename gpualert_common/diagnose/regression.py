"""Regression: whether a run was slower than earlier runs of the same training, and what changed.

The history, ``history.sqlite3`` in the state directory, holds for each run its resources and
progress, the settings that make a training slow or fast, and versions of its software.  A training
is identified by its command and directory, without seeds, ports, dates and ids of runs.  A run of
more than a second is compared with the newest twenty successful runs on the same number of GPUs of
the same model, without the earlier attempts at its own task.  Steps are compared by their time,
as the program reports it or by the clock, or by the throughput that the program reports; whole
runs only where they made about the same number of steps.  If too few runs can be compared, or the
history cannot be read, the verdict states it among its sources.

The history does not show whether code or data changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from gpualert_common.diagnose import thresholds
from gpualert_common.diagnose.evidence import Evidence
from gpualert_common.diagnose.run_metrics import RunMetrics, measure_run
from gpualert_common.model import Claim
from gpualert_common.structs import Struct, replace
from gpualert_common.telemetry.series import SourceAvailability

if TYPE_CHECKING:
    from gpualert_common.history import Baseline, EarlierRuns, PastRun, Spread

HISTORY = "history"


class Slowdown(Struct, frozen=True):
    """A run that was slower than ``usual``: ``ratio`` times, as ``text`` states with figures.

    ``is_comparable`` is False where the earlier runs used other GPUs; such a slowdown decides
    nothing.
    """

    ratio: float
    text: str
    usual: Baseline
    is_comparable: bool = True


class Comparison:
    """A run, compared with the earlier runs of the same training."""

    def __init__(self, evidence: Evidence) -> None:
        self._evidence = evidence
        self._host = evidence.observations.host

    @cached_property
    def _metrics(self) -> RunMetrics:
        return measure_run(self._evidence)

    @cached_property
    def _successful(self) -> list[PastRun]:
        return [run for run in self._evidence.observations.earlier if run.is_healthy]

    @cached_property
    def _comparable(self) -> list[PastRun]:
        """The successful runs on GPUs of the same number and model, newest first."""
        gpus = len(self._evidence.gpus) or None
        model = self._evidence.gpu_model
        return [
            run
            for run in self._successful
            if (gpus is None or run.gpus in (None, gpus))
            and (model is None or run.gpu_model in (None, model))
        ]

    @cached_property
    def usual(self) -> Baseline | None:
        """The usual metrics of the training, None for too few comparable runs."""
        return _baseline_of(self._comparable)

    # -- whether it was slower ---------------------------------------------------------------

    @cached_property
    def slowdown(self) -> Slowdown | None:
        """The slowdown against earlier runs, also where all runs of its host are slower."""
        evidence = self._evidence
        if not evidence.observations.earlier or evidence.duration_s < thresholds.LEAST_TIMED_S:
            return None
        elsewhere = [run for run in self._comparable if run.host != self._host]
        found = self._slower_than(self._comparable) or self._slower_than(elsewhere)
        if found is not None or self.usual is not None:
            return found
        return self._slower_than_on_other_gpus()

    def _slower_than_on_other_gpus(self) -> Slowdown | None:
        """Return the slowdown against the newest runs, which used other GPUs."""
        newest = [(run.gpus, run.gpu_model) for run in self._successful[:1]]
        found = self._slower_than(
            [run for run in self._successful if (run.gpus, run.gpu_model) in newest]
        )
        if found is None:
            return None
        this = _describe_gpus(len(self._evidence.gpus), self._evidence.gpu_model)
        text = f"{found.text}; those were on {_describe_gpus(*newest[0])}, this one on {this}"
        return replace(found, text=text, is_comparable=False)

    def _slower_than(self, runs: Sequence[PastRun]) -> Slowdown | None:
        usual = _baseline_of(runs)
        return None if usual is None else next(self._slowdowns(usual), None)

    def _slowdowns(self, usual: Baseline) -> Iterator[Slowdown]:
        """Yield each metric by which the run was slower, the most exact first."""
        step_s = self._metrics.get("step_time_s")
        rate, unit = self._metrics.get("throughput"), self._metrics.get("throughput_unit")
        before = f"in {usual.runs} earlier runs"
        if step_s and usual.step_time_s and (ratio := _excess(float(step_s), usual.step_time_s)):
            median = format_seconds(usual.step_time_s.median)
            text = f"a step took {format_seconds(float(step_s))}, {before} {median}"
            yield Slowdown(ratio, text, usual)
        if rate and unit == usual.throughput_unit and usual.throughput:
            ratio = _shortfall(float(rate), usual.throughput)
            if ratio:
                text = f"{float(rate):.3g} {unit}, {before} {usual.throughput.median:.3g}"
                yield Slowdown(ratio, text, usual)
        if usual.duration_s and self._made_the_same_steps(usual):
            duration_s = self._evidence.duration_s
            ratio = _excess(duration_s, usual.duration_s)
            if ratio and duration_s - usual.duration_s.median >= thresholds.LEAST_LONGER_S:
                median = format_seconds(usual.duration_s.median)
                text = f"it took {format_seconds(duration_s)}, {before} {median}"
                has_pace = step_s is not None or rate is not None
                text += ", in the same steps" if has_pace else ""
                yield Slowdown(ratio, text, usual)

    def _made_the_same_steps(self, usual: Baseline) -> bool:
        """Return whether it reports about as many steps as earlier runs, or none as they do."""
        steps = self._metrics.get("steps")
        if self._metrics.get("resumed") or (steps is None) != (usual.steps is None):
            return False
        if steps is None or usual.steps is None:
            return True
        difference = abs(float(steps) - usual.steps.median)
        return difference <= thresholds.SAME_STEPS * usual.steps.median

    # -- what changed ------------------------------------------------------------------------

    @cached_property
    def new_settings(self) -> tuple[str, ...]:
        """Settings (NAME=VALUE) that affect the speed and that no earlier run had.

        None where the settings of earlier runs are not known.
        """
        runs = [run for run in self._comparable if run.settings is not None]
        before = {word for run in runs for word in (run.settings or "").split()}
        words = str(self._metrics.get("settings", "")).split() if runs else []
        return tuple(word for word in words if word not in before)

    @property
    def differences(self) -> tuple[str, ...]:
        """Human-readable differences from every earlier run; at most some ten."""
        runs, now = self._comparable, self._metrics
        found = [*self.new_settings, *self._missing_settings()]
        hosts = sorted({run.host for run in runs if run.host})
        if self._host and hosts and self._host not in hosts:
            found.append(f"host {self._host}, before {_join_some(hosts)}")
        cpus, counts = now.get("cpus"), sorted({run.cpus for run in runs if run.cpus})
        if cpus and counts and cpus not in counts:
            found.append(f"{cpus} processors, before {_join_some(list(map(str, counts)))}")
        return (*found, *_new_versions(str(now.get("versions", "")), runs))

    def _missing_settings(self) -> list[str]:
        """Return the settings that every earlier run had, and this one lacks."""
        kept = [
            set((run.settings or "").split())
            for run in self._comparable
            if run.settings is not None
        ]
        if not kept or "settings" not in self._metrics:
            return []
        given = {word.partition("=")[0] for word in str(self._metrics["settings"]).split()}
        always = sorted(set.intersection(*kept))
        return [f"no {word}" for word in always if word.partition("=")[0] not in given]

    @property
    def slow_host(self) -> str:
        """A sentence that the host was also slower in earlier runs; "" if it was not."""
        runs = self._comparable
        here = _baseline_of(run for run in runs if run.host == self._host)
        there = _baseline_of(run for run in runs if run.host != self._host)
        if here is None or there is None or not here.step_time_s or not there.step_time_s:
            return ""
        if not _excess(here.step_time_s.median, there.step_time_s):
            return ""
        hosts = sorted({run.host for run in runs if run.host and run.host != self._host})
        here_s = format_seconds(here.step_time_s.median)
        there_s = format_seconds(there.step_time_s.median)
        return (
            f"a step takes {here_s} in {here.runs} runs on {self._host}, "
            f"{there_s} in {there.runs} on {_join_some(hosts)}"
        )

    def claims_about(self, slow: Slowdown | None) -> tuple[Claim, ...]:
        """Return the claims about a slowdown: its size, and what changed; at most two."""
        if slow is None:
            return ()
        changed = "; ".join(self.differences)
        texts = [slow.text, f"different from the earlier runs: {changed}" if changed else ""]
        return tuple(Claim(text, HISTORY) for text in texts if text)


def describe_history(recalled: EarlierRuns) -> SourceAvailability:
    """Return whether the history was available as a source of evidence."""
    if recalled.problem:
        return SourceAvailability(HISTORY, available=False, why=recalled.problem)
    successful = sum(run.is_healthy for run in recalled.runs)
    if successful >= thresholds.EARLIER_RUNS:
        return SourceAvailability(HISTORY, available=True)
    count = "1 earlier run" if successful == 1 else f"{successful or 'no'} earlier runs"
    why = f"{count} of this command succeeded, and {thresholds.EARLIER_RUNS:.0f} are needed"
    return SourceAvailability(HISTORY, available=False, why=why)


def format_seconds(value: float) -> str:
    """Return a human-readable duration: "0.32 s", "12.5 min", "3.1 h"."""
    if value < 120:
        return f"{value:.3g} s"
    return f"{value / 60:.3g} min" if value < 7200 else f"{value / 3600:.3g} h"


def _baseline_of(runs: Iterable[PastRun]) -> Baseline | None:
    known = list(runs)
    if len(known) < thresholds.EARLIER_RUNS:
        return None
    from gpualert_common.history import compute_baseline  # most runs have none before them

    return compute_baseline(known, int(thresholds.EARLIER_RUNS))


def _excess(now: float, usual: Spread) -> float:
    """Return the ratio to the usual value, 0 where it is not unusually large."""
    is_slow = now >= thresholds.SLOWER_THAN_BEFORE * usual.median and now > usual.high
    return now / usual.median if is_slow and usual.median else 0.0


def _shortfall(now: float, usual: Spread) -> float:
    """Return the ratio of the usual value to it, 0 where it is not unusually small."""
    is_slow = usual.median >= thresholds.SLOWER_THAN_BEFORE * now and now < usual.low
    return usual.median / now if is_slow and now else 0.0


def _describe_gpus(count: int | None, model: str | None) -> str:
    return f"{count or 'some'} of {model or 'unknown GPUs'}"


def _new_versions(now: str, runs: Sequence[PastRun]) -> Iterator[str]:
    before: dict[str, set[str]] = {}
    for run in runs:
        for word in (run.versions or "").split():
            name, _, version = word.partition("=")
            before.setdefault(name, set()).add(version)
    for word in now.split():
        name, _, version = word.partition("=")
        if name in before and version not in before[name]:
            yield f"{name} {version}, before {_join_some(sorted(before[name]))}"


def _join_some(names: Sequence[str]) -> str:
    return " and ".join(names) if len(names) < 3 else f"{names[0]}, {names[1]} and others"
