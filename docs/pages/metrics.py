"""Tables of the Prometheus metrics, from their declarations."""

from __future__ import annotations

from collections.abc import Iterable

from gpualert_common.exporter.machine_metrics import MACHINE_METRICS
from gpualert_common.exporter.metric import Metric, Source
from gpualert_common.exporter.run_metrics import RUN_METRICS


def format_metrics() -> str:
    """Return the metrics of all runs together and those of one run, as Markdown."""
    return "\n".join(
        [
            "### All runs together",
            "",
            *_format_table(MACHINE_METRICS, "user"),
            "",
            "### One run",
            "",
            *_format_table(RUN_METRICS, "run_id"),
        ]
    )


def _format_table(metrics: Iterable[Metric[Source]], first: str) -> list[str]:
    lines = ["| metric | kind | labels | meaning |", "|---|---|---|---|"]
    for metric in metrics:
        labels = ", ".join(f"`{label}`" for label in (first, *metric.labels))
        lines.append(f"| `{metric.name}` | {metric.kind} | {labels} | {metric.help} |")
    return lines
