"""The dashboard of the examples: its schema, its metrics and its layout."""

from __future__ import annotations

import json
import re
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.cog.plugins import register_default_plugins
from grafana_foundation_sdk.models.dashboard import Dashboard

from gpualert_common.exporter.machine_metrics import MACHINE_METRICS
from gpualert_common.exporter.metric import Metric
from gpualert_common.exporter.run_metrics import RUN_METRICS
from tests.exporter.dashboards import DASHBOARD, list_expressions
from tests.exporter.prometheus import EXAMPLES, RULES

METRICS: list[Metric[Any]] = [*MACHINE_METRICS, *RUN_METRICS]
NAMES = {metric.name for metric in METRICS}
ROOT = Path(__file__).parents[2]


def test_schema() -> None:
    """Each field of the dashboard, and of its panels, is one of Grafana's schema."""
    register_default_plugins()
    written = json.loads(DASHBOARD.read_text())
    known = json.loads(JSONEncoder().encode(Dashboard.from_json(written)))
    assert list_lost(written, known) == []
    assert list_lost({**written, "panles": []}, known) == ["panles"]


def list_lost(written: Any, known: Any, path: str = "") -> list[str]:
    """Return the paths of the values that are not the same in *known*."""
    if isinstance(written, dict) and isinstance(known, dict):
        items = ((key, value, known.get(key)) for key, value in written.items())
    elif isinstance(written, list) and isinstance(known, list) and len(written) == len(known):
        items = ((str(at), *pair) for at, pair in enumerate(zip(written, known, strict=True)))
    else:
        return [] if written == known else [path.removeprefix(".")]
    return [lost for key, one, other in items for lost in list_lost(one, other, f"{path}.{key}")]


def test_variables() -> None:
    """A person chooses data source, users and job; each query of a panel has the data source, and
    the user of the run where it is about single runs, else that of the exporter."""
    dashboard = json.loads(DASHBOARD.read_text())
    names = [one["name"] for one in dashboard["templating"]["list"]]
    assert names == ["datasource", "exporter_user", "user", "job_name"]
    for panel in dashboard["panels"]:
        assert {target["datasource"]["uid"] for target in panel["targets"]} == {"${datasource}"}
        for target in panel["targets"]:
            is_about_runs = "gpualert_run_" in target["expr"]
            assert "$exporter_user" not in target["expr"] or not is_about_runs
            assert "$user" not in target["expr"] or is_about_runs
        assert len({target["refId"] for target in panel["targets"]}) == len(panel["targets"])


def test_layout() -> None:
    """No panel overlaps another one, and all fit the width of the page."""
    panels = json.loads(DASHBOARD.read_text())["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    places = [panel["gridPos"] for panel in panels]
    assert all(place["x"] + place["w"] <= 24 for place in places)
    for one, other in combinations(places, 2):
        is_apart = (
            one["x"] + one["w"] <= other["x"]
            or other["x"] + other["w"] <= one["x"]
            or one["y"] + one["h"] <= other["y"]
            or other["y"] + other["h"] <= one["y"]
        )
        assert is_apart, (one, other)


@pytest.mark.parametrize("text", ["dashboard", "rules", "page"])
def test_metrics_exist(text: str) -> None:
    """Dashboard, rules and documentation name only metrics that there are."""
    page = (ROOT / "docs" / "metrics.md").read_text()
    texts = {
        "dashboard": "\n".join(list_expressions(json.loads(DASHBOARD.read_text()))),
        "rules": (EXAMPLES / RULES).read_text(),
        "page": page,
    }
    named = set(re.findall(r"\bgpualert_[a-z_]+", texts[text]))
    assert len(named) > 10
    assert named - {"gpualert_common"} <= NAMES
