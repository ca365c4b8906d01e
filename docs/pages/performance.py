"""Page of the figures of speed, from the kept file of the benchmarks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from docs.pages.markdown import format_list, join_parts
from tests.benchmarks.bench import PEER
from tests.benchmarks.figures import KEPT, Figures, Measurement, read_figures
from tests.benchmarks.measure import Limit
from tests.benchmarks.rows import ROWS

HEAD = f"""\
# Performance

Made from `tests/benchmarks/kept.json` by `make docs`; do not edit.

`make bench` measures every row of this page, as root on Debian, in about 45 minutes. It fails if a
limit is missed. `make bench BENCH_ARGS=launch` measures one row. `make bench BENCH_ARGS=--keep`
also keeps the figures; `make docs` then makes this page.

* All ways of a row are measured in turn, round by round, so that other load of the machine affects
  all alike. Figures are medians.
* *Peer* is the paper's tool, `{PEER}`. It keeps no record, syncs nothing, and reads a tail of 50
  lines.
* Times depend on the machine and its load; a ratio to a baseline of the same rounds hardly does.
  `make nightly` measures again and compares the ratios. It fails if one has become more than twice
  as bad as here, twice in succession.
"""

LAUNCH = """\
## The time of a launch

The row `launch` shows what `run()` adds to a child that does nothing. It is more than the paper's
tool adds, because `run()` keeps a record: a private directory, the log with its reserved space, the
launch record, the exit record, the verdict, and the recorder that writes them. It syncs the log
before the launch and the exit record at the end, so that neither is lost when the machine fails;
with `sync=False` it does not. On 2026-11-23 it added 1.9 ms with the syncs and 1.1 ms without.

The paper's tool does none of this, so the limit is four times its time. A faster launch would need
fewer files or no syncs. It would save a millisecond of a training that lasts minutes or days, and
lose the log of one that ends with its machine. See the [decisions](decisions.md).
"""


def make_performance_page() -> str:
    """Return the page of all limits and figures."""
    return format_page(read_figures(KEPT), list(ROWS))


def format_page(figures: Figures, names: Sequence[str]) -> str:
    """Return the page of the rows of these names; those without figures are not measured."""
    machines = list(dict.fromkeys(figures[name].machine for name in names if name in figures))
    letters = {machine: chr(ord("A") + number) for number, machine in enumerate(machines)}
    return join_parts(
        [
            HEAD,
            _format_summary(figures, names),
            "## Limits",
            "| | limit | ours | ours / baseline | kept | command | date | machine |\n"
            "|---|---:|---:|---:|---|---|---|---|\n"
            + "\n".join(line for name in names for line in _rows(name, figures, letters)),
            "\n".join(f"Machine {letter}: {machine}." for machine, letter in letters.items()),
            LAUNCH,
            "## All figures" if figures else "",
            *(_format_entries(name, figures[name]) for name in names if name in figures),
        ]
    )


def _format_summary(figures: Figures, names: Sequence[str]) -> str:
    """Return how many limits are kept, and each that is missed."""
    limits = [(n, limit) for n in names if n in figures for limit in figures[n].row.limits]
    missed = [
        f"`{name}`, {_cell(limit.what)}: {_verdict(limit)}"
        for name, limit in limits
        if not limit.met
    ]
    absent = [f"`{name}`: not measured" for name in names if name not in figures]
    summary = f"**{len(limits) - len(missed)} of {len(limits)} limits are kept.**"
    if not missed and not absent:
        return summary
    return f"{summary} Missed, or not measured:\n\n{format_list(missed + absent)}"


def _verdict(limit: Limit) -> str:
    if limit.ours is None:
        return f"not measured, {limit.why}"
    return f"**{_number(limit.ours)} {limit.unit}**; the limit is {_bound(limit)}"


def _rows(name: str, figures: Figures, letters: Mapping[str, str]) -> Iterator[str]:
    """Yield the line of a row, and one for each of its limits."""
    command = f"`make bench BENCH_ARGS={name}`"
    if name not in figures:
        yield f"| **{name}** | | | | **not measured** | {command} | | |"
        return
    measurement = figures[name]
    row = measurement.row
    place = f"{command} | {measurement.date} | {letters[measurement.machine]}"
    yield f"| **{_cell(row.title)}** |{'' if row.limits else ' none'} | | | | {place} |"
    for limit in row.limits:
        ours = "" if limit.ours is None else f"{_number(limit.ours)} {limit.unit}"
        ratio = "" if limit.ratio is None else _number(limit.ratio)
        kept = "yes" if limit.met else "**no**" if limit.ours is not None else "**not measured**"
        yield f"| {_cell(limit.what)} | {_bound(limit)} | {ours} | {ratio} | {kept} | | | |"


def _format_entries(name: str, measurement: Measurement) -> str:
    """Return the section of one row: its figures with their spread, and its notes."""
    row = measurement.row
    lines = [
        f"| {_cell(entry)} | {_number(spread.median)} | {_number(spread.p10)} "
        f"| {_number(spread.p90)} | {spread.n} | {spread.unit} |"
        for entry, spread in row.entries.items()
    ]
    table = "| | median | p10 | p90 | n | unit |\n|---|---:|---:|---:|---:|---|\n" + "\n".join(
        lines
    )
    parts = [f"### `{name}`: {row.title}", table if lines else "", *row.notes]
    return join_parts(parts)


def _bound(limit: Limit) -> str:
    if limit.ours is None:
        return ""
    return f"at {'least' if limit.at_least else 'most'} {_number(limit.bound)} {limit.unit}"


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def _cell(text: str) -> str:
    """Return a text for a cell of a table."""
    return text.replace("|", "\\|")
