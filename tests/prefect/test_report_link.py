"""Tests of the address of a report, which a variable of the Prefect server gives."""

from __future__ import annotations

import pytest
from markdown_it import MarkdownIt  # Prefect's own rich brings it
from prefect_gpualert import presentation
from prefect_gpualert.report_link import make_report_url

RUN_ID = "20261128-141501-012345-ab12"


@pytest.mark.parametrize(
    ("template", "url"),
    [
        ("http://{host}:8765/runs/{run_id}", f"http://gpu-1.lan:8765/runs/{RUN_ID}"),
        ("https://[::1]/r?run={run_id}&h={host}", f"https://[::1]/r?run={RUN_ID}&h=gpu-1.lan"),
        ("https://reports.example", "https://reports.example"),
    ],
)
def test_address(template: str, url: str) -> None:
    """The id and the host of the run are put in their places."""
    assert make_report_url(template, RUN_ID, "gpu-1.lan") == url


@pytest.mark.parametrize(
    "template",
    [
        *("javascript:alert(1)//{run_id}", "file:///srv/{run_id}.html", "data:text/html,x"),
        *("http://", "http:///x", "//host/x", "/runs/{run_id}", "", 7, ["http://host"], None),
        *("http://host/>)<img src=x>", "http://host/a b", "http://host/\n", "http://host/ü"),
        *("http://host/{run_id.__class__}", "http://host/" + "x" * 2000),
    ],
)
def test_other_addresses_are_refused(template: object) -> None:
    """Only an address of HTTP becomes a link; the error names the variable."""
    with pytest.raises(ValueError, match="gpualert_report_url"):
        make_report_url(template, RUN_ID, "gpu-1")


def test_host_and_run_stay_in_their_places() -> None:
    """No name of a host and no id of a run changes the other parts of the address."""
    url = make_report_url("https://web/{host}/{run_id}", "../x?y#z", "a/b@c <d>")
    assert url == "https://web/a%2Fb%40c%20%3Cd%3E/..%2Fx%3Fy%23z"


def test_page_has_one_link() -> None:
    """A Markdown parser finds one link in the page, which leads to the address."""
    url = "https://h/(a)?b=[c]*d*_e_!~f~'g'{h}".replace("{h}", "")
    tokens = MarkdownIt().parse(presentation.link_page(url, "x](y)"))
    pieces = [piece for one in tokens for piece in one.children or ()]
    assert [one.type for one in pieces if one.nesting] == ["link_open", "link_close"]
    assert pieces[0].attrs["href"] == url.replace("[c]", "%5Bc%5D")
