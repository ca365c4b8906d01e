"""Metrics of one run: those in progress have them, and those that ended lately."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

from gpualert_common.current_runs.live_runs import LiveRun
from gpualert_common.exporter.metric import Metric, Sample, make_number
from gpualert_common.exporter.totals import name_attribution, name_cause, name_kind
from gpualert_common.live_facts import LiveProgress


def _progress(
    name: str, text: str, read: Callable[[LiveProgress], float | None]
) -> Metric[LiveRun]:
    """Return the metric of a number that counts steps, with their unit as its label."""

    def list_samples(run: LiveRun) -> Iterator[Sample]:
        value = read(run.progress)
        if value is not None:
            yield (run.progress.unit,), value

    return Metric(f"gpualert_run_{name}", text, ("unit",), list_samples)


def _read_info(run: LiveRun) -> Iterator[Sample]:
    summary = run.summary
    job = summary.job or {}
    labels = (summary.name, job.get("name"), summary.user, summary.owner, summary.host)
    yield [label if isinstance(label, str) else "" for label in labels], 1.0


def _read_condition(run: LiveRun) -> Iterator[Sample]:
    yield (run.summary.condition,), 1.0


def _read_verdict(run: LiveRun) -> Iterator[Sample]:
    summary = run.summary
    if summary.disposition is not None and not run.is_live:
        yield (name_cause(summary.cause), name_attribution(summary.attribution)), 1.0


def _read_warnings(run: LiveRun) -> Iterator[Sample]:
    for kind in sorted({name_kind(kind) for kind in run.warning_kinds}):
        yield (kind,), 1.0


def _count_gpus(run: LiveRun) -> float | None:
    return (run.load.gpus or None) if run.is_live else run.summary.gpus


def _read_gpu_seconds(run: LiveRun) -> float | None:
    began_at = run.summary.started_at
    if not run.is_live:
        return run.summary.gpu_seconds
    if not run.load.gpus or began_at is None:
        return None
    return run.load.gpus * max(0.0, time.time() - began_at)


def _read_utilization(run: LiveRun) -> float | None:
    return None if run.load.gpu_percent is None else run.load.gpu_percent / 100


RUN_METRICS: tuple[Metric[LiveRun], ...] = (
    Metric(
        "gpualert_run_info",
        "Labels of a run, to be joined by run_id: its name, the job that it belongs to, the user "
        "who launched it, the person or team that answers for it, and its host. Always 1.",
        ("name", "job_name", "user", "owner", "host"),
        _read_info,
    ),
    Metric(
        "gpualert_run_condition",
        "Condition of a run, such as running, completed or failed. Always 1; other conditions of "
        "the run have no sample.",
        ("condition",),
        _read_condition,
    ),
    Metric(
        "gpualert_run_verdict",
        "Cause of the end of a run, and the part that is at fault. Always 1; absent until the "
        "verdict is made.",
        ("cause", "attribution"),
        _read_verdict,
    ),
    Metric(
        "gpualert_run_warning",
        "Warning of a run in progress that is active. Always 1; absent once it is withdrawn.",
        ("kind",),
        _read_warnings,
    ),
    make_number(
        "gpualert_run_start_time_seconds", "Time of the launch.", lambda run: run.summary.started_at
    ),
    make_number(
        "gpualert_run_end_time_seconds", "Time of the end.", lambda run: run.summary.ended_at
    ),
    make_number(
        "gpualert_run_exit_code",
        "Exit status of a run that ended; -n for signal n.",
        lambda run: run.summary.exit_code,
    ),
    make_number(
        "gpualert_run_last_output_timestamp_seconds",
        "Time of the newest output of a run in progress.",
        lambda run: run.last_output_at,
    ),
    make_number(
        "gpualert_run_last_step_timestamp_seconds",
        "Time at which a run in progress logged its last step.",
        lambda run: run.progress.position_at,
    ),
    _progress(
        "step",
        "Last step that a run in progress logged, in the unit in which it counts: step, sample or "
        "epoch.",
        lambda progress: progress.position,
    ),
    _progress(
        "planned_steps",
        "Number of steps that the training plans, in the same unit.",
        lambda progress: progress.total,
    ),
    _progress(
        "step_duration_seconds",
        "Time that one step takes at present, in the same unit; its inverse is the step rate.",
        lambda progress: progress.pace_s,
    ),
    make_number(
        "gpualert_run_loss",
        "Newest loss of a run in progress; NaN or infinite where the training logged that.",
        lambda run: run.progress.loss,
    ),
    make_number("gpualert_run_gpus", "Number of GPUs of the run.", _count_gpus),
    make_number(
        "gpualert_run_gpu_utilization_ratio",
        "Mean utilization of the GPUs of a run in progress, from 0 to 1.",
        _read_utilization,
    ),
    make_number(
        "gpualert_run_gpu_memory_used_bytes",
        "Memory in use on all GPUs of a run in progress.",
        lambda run: run.load.gpu_bytes,
    ),
    make_number(
        "gpualert_run_gpu_memory_bytes",
        "Memory of all GPUs of a run in progress.",
        lambda run: run.load.gpu_total_bytes,
    ),
    make_number(
        "gpualert_run_resident_memory_bytes",
        "Memory of the processes of a run in progress.",
        lambda run: run.load.host_bytes,
    ),
    make_number(
        "gpualert_run_gpu_seconds",
        "Time for which the run has had its GPUs, times their number; of a run in progress up to "
        "now.",
        _read_gpu_seconds,
    ),
    make_number(
        "gpualert_run_wasted_gpu_seconds",
        "Part of gpualert_run_gpu_seconds without a lasting result; absent until the run ends.",
        lambda run: run.summary.wasted_gpu_seconds,
    ),
)
