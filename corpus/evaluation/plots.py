"""Plots of an evaluation as SVG for a page.  The same figures give the same bytes."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from corpus.evaluation.first_contact import ContactBatch
from corpus.evaluation.results import CalibrationBin, ConfusionMatrix

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_STYLE: Any = {  # matplotlib types its keys as a list of 300 literals
    "font.family": "sans-serif",
    "font.size": 9,
    "svg.fonttype": "none",  # text stays text: small, searchable, in the reader's own font
    "svg.hashsalt": "gpualert",
    "axes.spines.top": False,
    "axes.spines.right": False,
}
_INK = "#1c2128"
_BLUE = "#2f6fb0"
_GREY = "#8a939d"
_CELL_INCHES = 0.24
_LEAST_SHOWN = 0.005


def plot_confusion(matrix: ConfusionMatrix) -> str:
    """Return the confusion matrix: rows are labels, columns causes, cells shares of the row."""
    import numpy as np
    from matplotlib import colormaps
    from matplotlib.patches import Rectangle

    labels = matrix.labels
    weights = np.asarray(matrix.weights)
    rows = weights.sum(axis=1, keepdims=True)
    share = np.divide(weights, rows, out=np.zeros_like(weights), where=rows > 0)
    side = _CELL_INCHES * len(labels) + 2.2
    with _figure(side, side) as (figure, out):
        axes = figure.add_subplot()
        axes.set(xlim=(-0.5, len(labels) - 0.5), ylim=(len(labels) - 0.5, -0.5), aspect="equal")
        axes.set_xticks(range(len(labels)), labels, rotation=90)
        axes.set_yticks(range(len(labels)), labels)
        axes.set_xlabel("named")
        axes.set_ylabel("label")
        axes.tick_params(length=0)
        for row, column in zip(*np.nonzero(share >= _LEAST_SHOWN), strict=True):
            value = share[row, column]
            cell = Rectangle((column - 0.5, row - 0.5), 1, 1, color=colormaps["Blues"](value))
            axes.add_patch(cell)
            axes.text(
                *(column, row, f"{value * 100:.0f}"),
                ha="center",
                va="center",
                fontsize=6.5,
                color="white" if value > 0.6 else _INK,
            )
    return out.getvalue()


def plot_calibration(bins: Sequence[CalibrationBin]) -> str:
    """Return the share of verdicts that is right against their confidence."""
    with _figure(4.2, 3.6) as (figure, out):
        axes = figure.add_subplot()
        axes.plot((0, 1), (0, 1), color=_GREY, linewidth=0.8, linestyle="--")
        stated, right = [one.confidence for one in bins], [one.right for one in bins]
        axes.plot(stated, right, color=_BLUE, linewidth=1)
        axes.scatter(stated, right, s=[12 + 1.2 * one.weight for one in bins], color=_BLUE)
        axes.set(xlim=(0, 1.02), ylim=(0, 1.04), xlabel="confidence", ylabel="share right")
    return out.getvalue()


def plot_first_contact(curve: Sequence[ContactBatch]) -> str:
    """Return the share that is right at first contact, per batch and over all batches so far."""
    with _figure(5.6, 3.2) as (figure, out):
        axes = figure.add_subplot()
        batches = [one.batch for one in curve]
        axes.bar(batches, [one.share for one in curve], color="#c9d9ea", label="in the batch")
        so_far = [one.share_so_far for one in curve]
        axes.plot(batches, so_far, color=_BLUE, marker="o", markersize=3, label="so far")
        axes.set(ylim=(0, 1.02), xlabel="batch", ylabel="share right at first contact")
        axes.set_xticks(batches)
        axes.legend(frameon=False, loc="lower right")
    return out.getvalue()


@contextmanager
def _figure(width: float, height: float) -> Iterator[tuple[Figure, io.StringIO]]:
    """Yield a figure to draw on, and the text that contains it as SVG afterwards."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    out = io.StringIO()
    with mpl.rc_context(_STYLE):
        figure = Figure(figsize=(width, height), layout="constrained")
        yield figure, out
        drawn = io.StringIO()
        figure.savefig(drawn, format="svg", metadata={"Date": None})
    text = drawn.getvalue()
    out.write(text[text.index("<svg") :])  # HTML takes no XML declaration
