"""The counts of the runner of upstream's tests, and its message without tests."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from tests.upstream import fetch, outcome

ENDINGS = """
import pytest

class TestEndings:
    def test_passes(self): pass
    def test_fails(self): assert False
    @pytest.mark.skip
    def test_skips(self): pass
    @pytest.mark.xfail
    def test_fails_as_expected(self): assert False
    def test_has_no_fixture(self, missing): pass
"""


def test_each_outcome_is_counted(tmp_path: Path) -> None:
    """Only passed tests count as passed, and a file that cannot be imported is not empty."""
    (tmp_path / "unit").mkdir()
    (tmp_path / "unit/test_endings.py").write_text(ENDINGS)
    (tmp_path / "unit/test_imports.py").write_text("import no_such_module")
    (tmp_path / "unit/test_end.py").write_text("def test_passes(): pass")
    files = ["unit/test_endings.py", "unit/test_imports.py", "unit/test_end.py"]
    arguments = ["--continue-on-collection-errors"]
    found = outcome.run(Path(sys.executable), tmp_path, files, *arguments, env=os.environ)
    endings, imports, end = (found[file] for file in files)
    assert endings.passed == ["test_passes"]
    assert endings.failed == ["test_fails"]
    assert endings.other == [
        "test_skips (skipped)",
        "test_fails_as_expected (skipped)",
        "test_has_no_fixture (error)",
    ]
    assert imports.other == ["unit.test_imports (error)"]
    assert end == outcome.Outcome(passed=["test_passes"])


def test_without_a_registry_nothing_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without an sdist, the error has its name and pip's output, and nothing is cached."""
    monkeypatch.setattr(fetch, "CACHE", tmp_path / "cache")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    with pytest.raises(
        fetch.NotFetchedError, match=r"(?s)No sdist of attrs==25\.1\.0.*No matching"
    ):
        fetch.source("attrs", "25.1.0")
    assert list((tmp_path / "cache").iterdir()) == []
