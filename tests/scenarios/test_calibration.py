"""The source of each threshold is true: the calibrated ones decide on the open scenarios."""

from __future__ import annotations

from pathlib import Path

from gpualert_common.diagnose.thresholds import list_thresholds
from tests.scenarios.calibration import FACTORS, list_calibrated

PAGE = Path(__file__).parents[2] / "docs" / "scenarios.md"


def read_rows() -> dict[str, list[str]]:
    """Return the cells of the table of calibration by threshold."""
    block = PAGE.read_text().partition("<!-- calibration -->")[2]
    rows = [line.strip("| ").split(" | ") for line in block.splitlines() if line.startswith("| `")]
    return {name.strip("`"): cells for name, *cells in rows}


def test_calibrated_thresholds_decide() -> None:
    """Each threshold that is called calibrated is in the table with its value, and the open
    scenarios have another verdict at half or at twice of it."""
    rows = read_rows()
    assert set(rows) == set(list_calibrated())
    values = list_thresholds()
    for name, (value, *counts) in rows.items():
        assert float(value) == float(f"{float(values[name]):g}"), name
        outcomes = {tuple(counts[at :: len(FACTORS)]) for at in range(len(FACTORS))}
        assert len(outcomes) > 1, name


def test_every_threshold_has_a_source() -> None:
    """No threshold is without a reason and a source."""
    assert all(one.reason and one.source for one in list_thresholds().values())
