"""The address of a run's report, by a variable of the Prefect server.

A browser opens no file of another machine, and a report is made where its record is.  So Prefect
can show a link only if something serves the reports: ``gpualert web``, or a server of your own.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import quote

if TYPE_CHECKING:
    from prefect.client.orchestration import SyncPrefectClient

VARIABLE = "gpualert_report_url"
"""Name of the variable, such as ``http://{host}:8765/runs/{run_id}/report``."""
_MOST_URL = 2000
_URL = re.compile(r"https?://[A-Za-z0-9\[][A-Za-z0-9._~:/?#\[\]@!$&'()*+,;=%-]*")


def read_report_url(client: SyncPrefectClient, run_id: str, host: str) -> str | None:
    """Return the address of the report of a run; None where the variable is not set.

    Raises ValueError for a value that is no such address, and the errors of the API.
    """
    variable = client.read_variable_by_name(VARIABLE)
    if variable is None or variable.value in (None, ""):
        return None
    return make_report_url(variable.value, run_id, host)


def make_report_url(template: object, run_id: str, host: str) -> str:
    """Return the address with the id and the host of a run in their places.

    Raises ValueError for anything but an address of HTTP.
    """
    url = template if isinstance(template, str) else ""
    url = url.replace("{run_id}", quote(run_id, safe="")).replace("{host}", quote(host, safe=""))
    if len(url) > _MOST_URL or not _URL.fullmatch(url):
        raise ValueError(
            f"the variable {VARIABLE} is no address such as "
            "http://{host}:8765/runs/{run_id}/report"
        )
    return url
