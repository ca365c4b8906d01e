"""The dashboard of the examples, and the queries in it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

DASHBOARD = Path(__file__).parents[2] / "examples" / "grafana" / "gpualert.json"
_VARIABLES = {
    "$__rate_interval": "1m",
    "$__range": "1h",
    "$exporter_user": ".*",
    "$user": ".*",
    "$job_name": ".*",
}


def list_expressions(dashboard: Mapping[str, Any]) -> list[str]:
    """Return the queries of all panels, with values in place of Grafana's variables."""
    return [
        replace_variables(target["expr"])
        for panel in dashboard["panels"]
        for target in panel["targets"]
    ]


def replace_variables(expression: str) -> str:
    """Return a query with values in place of Grafana's variables, as with all values chosen."""
    for name, value in _VARIABLES.items():
        expression = expression.replace(name, value)
    assert "$" not in expression, expression
    return expression
