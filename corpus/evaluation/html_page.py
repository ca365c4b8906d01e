"""The files of an evaluation: its results, the plot of the confusion matrix, an HTML page."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import jinja2
from markupsafe import Markup

from corpus.entries import Split
from corpus.evaluation import plots
from corpus.evaluation.first_contact import ContactBatch
from corpus.evaluation.results import RESULTS, EvaluationResults, results_to_json

PICTURE = "confusion.svg"
PAGE = "evaluation.html"

_TEMPLATES = Path(__file__).parent / "templates"


def write_evaluation(
    folder: Path, results: EvaluationResults, curve: Sequence[ContactBatch]
) -> list[Path]:
    """Write results, plot and page into *folder*; returns the files.  Raises OSError.

    *curve* is that of first contacts.
    """
    folder.mkdir(parents=True, exist_ok=True)
    files = {
        RESULTS: results_to_json(results, indent=1) + "\n",
        PICTURE: plots.plot_confusion(results.confusion),
        PAGE: render_page(results, curve),
    }
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    return [folder / name for name in files]


def render_page(results: EvaluationResults, curve: Sequence[ContactBatch]) -> str:
    """Return the evaluation as one HTML page without other files."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    main = results.splits.get(Split.ALL) or next(iter(results.splits.values()))
    drawn = {
        "confusion": plots.plot_confusion(results.confusion),
        "calibration": plots.plot_calibration(main.calibration.bins),
        "first_contact": plots.plot_first_contact(curve) if curve else "",
    }
    return environment.get_template("evaluation.html.j2").render(
        results=results,
        facts=results.corpus,
        splits=results.splits,
        main=main,
        curve=curve,
        pictures={name: Markup(svg) for name, svg in drawn.items()},
    )
