"""Whole messages as they are sent, kept in ``golden/`` for review.

After a change that is meant: ``WRITE_GOLDEN=1 python -m pytest tests/report/test_golden.py``, and
review the changed files before they are committed.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gpualert_common.report.message import render_alert
from gpualert_common.report.samples import SAMPLES

GOLDEN = Path(__file__).parent / "golden"


@pytest.mark.parametrize("kind", ["text", "brief", "page"])
@pytest.mark.parametrize("sample", SAMPLES)
def test_message_equals_its_golden_file(sample: str, kind: str) -> None:
    """The built-in templates render a sample exactly as in its file."""
    made = render_alert(
        SAMPLES[sample], text_bytes=1 << 20, html_bytes=1 << 20, brief=kind == "brief"
    )
    name, content = {
        "text": (f"{sample}.txt", f"{made.subject}\n\n{made.text}"),
        "brief": (f"{sample}.brief.txt", made.text),
        "page": (f"{sample}.html", made.html or ""),
    }[kind]
    file = GOLDEN / name
    if os.environ.get("WRITE_GOLDEN"):
        file.write_text(content)
    assert content == file.read_text()
