"""All benchmarks by their names, in the order of the page."""

from __future__ import annotations

from collections.abc import Callable

from tests.benchmarks import (
    alert,
    analysing,
    digests,
    ending,
    exporting,
    flood,
    guardian,
    launch,
    listing,
    merging,
    observing,
    profiling,
    redact,
    report,
    restraint,
    scan,
    stacks,
    start,
    tracing,
    watching,
)
from tests.benchmarks.bench import Bench
from tests.benchmarks.engine import in_engine
from tests.benchmarks.measure import Row

CORE: dict[str, Callable[[Bench], Row]] = {
    "launch": launch.measure,
    "start": start.measure,
    "blocks": flood.measure_blocks,
    "lines": flood.measure_lines,
    "paced": ending.measure_paced,
    "live": ending.measure_live,
    "flat-out": ending.measure_flat_out,
    "scan": scan.measure,
    "dense": scan.measure_dense,
    "endless-line": restraint.measure_endless_line,
    "idle": restraint.measure_idle,
    "guardian": guardian.measure_start,
    "follower": guardian.measure_follower,
    "followed": guardian.measure_followed,
    "redact": redact.measure,
    "alert": alert.measure,
    "observe": observing.measure,
    "telemetry": observing.measure_telemetry,
    "agent": watching.measure,
    "digests": digests.measure,
    "listing": listing.measure,
    "metrics": exporting.measure,
    "stacks": stacks.measure,
    "tracing": tracing.measure,
    "profile": profiling.measure,
    "analysis": analysing.measure,
    "report": report.measure,
    "merging": merging.measure,
}

ENGINES: dict[str, Callable[[Bench], Row]] = {
    "airflow-start": in_engine("airflow_start", rounds=30),
    "airflow-flood": in_engine("airflow_flood", rounds=3),
    "airflow-import": in_engine("airflow_import", rounds=20),
    "prefect-start": in_engine("prefect_start", rounds=30),
    "prefect-flood": in_engine("prefect_flood", rounds=1),
}

ROWS = CORE | ENGINES
