"""The tables of an evaluation for a paper in Markdown."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from gpualert_common.corpus.baselines import BASELINES
from gpualert_common.corpus.evaluate import RESULTS
from gpualert_common.corpus.first_contact import curve, read_contacts

_Scores = Mapping[str, Any]

_SPLITS = {"all": "all origins", "dev": "open origins", "test": "frozen origins"}
_SMALLEST_P = 0.001


def readme_block(corpus: str | os.PathLike[str]) -> str:
    """The tables of the results and first contacts that are kept in *corpus*.  Raises OSError."""
    results = json.loads((Path(corpus) / RESULTS).read_text(encoding="utf-8"))
    return tables(results, curve(read_contacts(corpus)))


def tables(results: Mapping[str, Any], contacts: Sequence[Mapping[str, Any]]) -> str:
    """What the README shows: corpus, scores, first contact, robustness.

    *results* are those of all splits, *contacts* the curve of first contacts.
    """
    parts = [_corpus(results["corpus"]), _scores(results["splits"])]
    if contacts:
        parts.append(_curve(contacts))
    if "robustness" in results:
        parts.append(_robustness(results["robustness"]))
    return "\n".join(parts)


def _corpus(facts: Mapping[str, Any]) -> str:
    kinds = ", ".join(f"{count} {kind}" for kind, count in facts["provenance"].items() if count)
    return (
        f"{facts['logs']} logs over {facts['causes']} causes ({kinds}) from {facts['origins']} "
        f"origins, {facts['frozen_origins']} of them frozen. Near-copies together count as one "
        f"log, which leaves {facts['groups']}.\n"
    )


def _scores(splits: Mapping[str, _Scores]) -> str:
    shown = {name: splits[name] for name in _SPLITS if name in splits}

    def row(title: str, cell: Callable[[_Scores], str]) -> list[str]:
        return [title, *map(cell, shown.values())]

    def baseline(name: str) -> list[str]:
        return row(f"- {name}", lambda one: _paper(one, lambda paper: _baseline(paper, name)))

    rows = [
        row("logs", lambda one: str(one["logs"])),
        row("**macro-F1 over causes**", lambda one: _figure(one["causes"]["macro_f1"])),
        row("share named right", lambda one: _figure(one["causes"]["accuracy"])),
        row(
            "**macro-F1 over the paper's 15 classes**",
            lambda one: _paper(one, lambda paper: _figure(paper["macro_f1"])),
        ),
        *map(baseline, BASELINES),
        row("good runs that were named a failure", lambda one: _share(one["false_alarms"])),
        row("failures that were named a good run", lambda one: _share(one["missed"])),
        row("expected calibration error", lambda one: f"{one['calibration']['error']:.3f}"),
    ]
    return _table(["", *(_SPLITS[name] for name in shown)], rows)


def _paper(scores: _Scores, cell: Callable[[_Scores], str]) -> str:
    return cell(scores["paper"]) if scores["paper"] else "-"


def _baseline(paper: _Scores, name: str) -> str:
    found = paper["baselines"][name]
    p = found["mcnemar"]["p"]
    told = f"p < {_SMALLEST_P}" if p < _SMALLEST_P else f"p = {p:.2g}"
    return f"{found['macro_f1']['value']:.3f} ({told})"


def _curve(contacts: Sequence[Mapping[str, Any]]) -> str:
    rows = [
        [
            *(str(one["batch"]), one["date"], str(one["origins"]), str(one["logs"])),
            *(_percent(one["share"]), f"{one['macro_f1']:.3f}", _percent(one["share_so_far"])),
        ]
        for one in contacts
    ]
    heads = ["batch", "date", "origins", "logs", "right at first contact", "macro-F1", "so far"]
    return _table(heads, rows)


def _robustness(rows: Sequence[Mapping[str, Any]]) -> str:
    keys = [key for key in ("causes_all", "paper_all", "causes_test") if key in rows[0]]
    titles = {
        "causes_all": "macro-F1 over causes",
        "paper_all": "over the paper's classes",
        "causes_test": "over causes, frozen origins",
    }
    cells = [
        [row["change"], *(f"{row[key]:.3f} ({_points(row['points_lost'][key])})" for key in keys)]
        for row in rows
    ]
    return _table(["each log again with", *(titles[key] for key in keys)], cells)


def _figure(figure: Mapping[str, float]) -> str:
    return f"{figure['value']:.3f} [{figure['low']:.3f}, {figure['high']:.3f}]"


def _share(part: Mapping[str, Any]) -> str:
    return f"{_percent(part['share'])} of {part['logs']}"


def _percent(share: float) -> str:
    return f"{share:.1%}".replace("%", " %")


def _points(lost: float) -> str:
    return "±0.0" if abs(lost) < 0.05 else f"{-lost:+.1f}"


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    ruler = ["---", *("---:" for _ in heads[1:])]
    lines = [heads, ruler, *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)
