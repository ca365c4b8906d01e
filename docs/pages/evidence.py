"""Page of the evidence other than the log: sources, families, thresholds."""

from __future__ import annotations

from docs.pages.markdown import join_parts, read_docstring
from gpualert_common.diagnose import phenomena, regression, thresholds
from gpualert_common.telemetry import source

HEAD = """\
# Evidence other than the log

Made from `gpualert_common/telemetry/sources/*.py`, `gpualert_common/diagnose/phenomena/*/*.py`
and `gpualert_common/diagnose/thresholds.py` by `make docs`; do not edit.

If a run lasts for more than a second, a separate process samples the machine every five seconds,
and once more when the run has ended (`--no-observe` switches this off). Where NVML is installed, it
starts with the run: its first sample is the baseline of the GPUs' counters. A source that was not
sampled is named in the verdict, with the reason. The samples are in
`telemetry.jsonl` of the run's record: every sample of the last hour, and fewer of the time before,
with the extremes of those that were dropped. The verdict lists each source that is not available,
with the reason; `gpualert doctor` reports this before a run, and how to make it available.

With 8 GPUs and a training that prints a line per second, the sources use 0.23 % of one core (8 s of
CPU time per hour), plus the time that NVIDIA's driver needs for its answers. They use 10 MB of disk
after a day and less than 20 MB after 30 days. `make bench` measures this (rows `observe` and
`telemetry`).

"""


def make_evidence_page() -> str:
    """Return the page of all sources, families and thresholds."""
    parts = ["## Sources"]
    for name in source.list_sources():
        found = source.load_source_class(name)
        parts += [f"### {name}", read_docstring(found.__module__), f"Decides: {found.decides}."]
    parts += ["## Earlier runs", read_docstring(regression.__name__)]
    parts += ["## Families", "The rule of each family for evidence other than log lines."]
    for name, family in phenomena.families().items():
        parts += [f"### {name.replace('_', ' ')}", read_docstring(family.__module__)]
    rows = "".join(
        f"| `{name}` | {value:g} {value.unit} | {value.reason} | {value.source} |\n"
        for name, value in thresholds.list_thresholds().items()
    )
    parts += ["## Thresholds", f"| | value | reason | source |\n|---|---|---|---|\n{rows}"]
    return HEAD + join_parts(parts)
