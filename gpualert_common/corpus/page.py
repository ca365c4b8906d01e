"""What an evaluation leaves on the disk: its figures, the confusion matrix, a page to read."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from gpualert_common.corpus import pictures
from gpualert_common.corpus.evaluate import RESULTS

PICTURE = "confusion.svg"
PAGE = "evaluation.html"

_TEMPLATES = Path(__file__).parent / "templates"


def write(
    out: str | os.PathLike[str],
    results: Mapping[str, Any],
    curve: Sequence[Mapping[str, Any]],
) -> list[Path]:
    """Write results, picture and page into the directory *out*; returns the files.

    *curve* is that of first contacts.  Raises OSError.
    """
    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    told = json.dumps(results, indent=1, ensure_ascii=False)
    files = {
        RESULTS: f"{told}\n",
        PICTURE: pictures.confusion(results["confusion"]),
        PAGE: page(results, curve),
    }
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    return [folder / name for name in files]


def page(results: Mapping[str, Any], curve: Sequence[Mapping[str, Any]]) -> str:
    """The evaluation as one HTML page that needs nothing beside it."""
    import jinja2
    from markupsafe import Markup

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    split = "all" if "all" in results["splits"] else next(iter(results["splits"]))
    bins = results["splits"][split]["calibration"]["bins"]
    drawn = {
        "confusion": pictures.confusion(results["confusion"]),
        "calibration": pictures.calibration(bins),
        "first_contact": pictures.first_contact(curve) if curve else "",
    }
    return environment.get_template("evaluation.html.j2").render(
        results=results,
        facts=results["corpus"],
        splits=results["splits"],
        main=results["splits"][split],
        curve=curve,
        pictures={name: Markup(svg) for name, svg in drawn.items()},
    )
