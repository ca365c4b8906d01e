"""The reference agrees with the code: each field of a verdict, and each argument of the API."""

from __future__ import annotations

import inspect
import json
import re
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from docs.pages.job import make_job_schema
from docs.pages.python_api import make_python_api_page
from docs.pages.verdict import make_verdict_page, make_verdict_schema
from gpualert_common import model, run
from gpualert_common.jobs.job_report import JobReport, NodeSummary
from gpualert_common.structs import Struct

ROOT = Path(__file__).parents[2]
ROW = re.compile(r"^\| `(\w+)` \| .* \| .* \|$", re.MULTILINE)
PARTS: dict[str, type] = {
    "Fields": model.Verdict,
    "A claim": model.Claim,
    "A place in a log": model.LogLocation,
    "A family that is ruled out": model.RuledOutFamily,
    "A further cause": model.SecondaryCause,
    "A remark": model.VerdictWarning,
    "An evidence source": model.SourceStatus,
}


@pytest.mark.parametrize("title", PARTS)
def test_page_explains_each_field(title: str) -> None:
    """The page of the verdict has a row for each field of its classes, and no other row."""
    section = make_verdict_page().partition(f"\n## {title}")[2].partition("\n## ")[0]
    names = ROW.findall(section)
    kind = PARTS[title]
    assert issubclass(kind, Struct)
    assert sorted(names) == sorted(kind.__struct_fields__)


@pytest.mark.parametrize("kind", [model.Disposition, model.Attribution, model.Retry])
def test_page_explains_each_value(kind: type[model.Disposition]) -> None:
    """The page of the verdict explains each value of its enums, in the order of the code."""
    section = make_verdict_page().partition(f"\n### {kind.__name__}\n")[2].partition("\n#")[0]
    assert re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE) == list(kind)


def test_schema_fits_a_verdict(tmp_path: Path) -> None:
    """A verdict as JSON has the required keys of the schema, and in each part only known keys."""
    log = tmp_path / "old.log"
    log.write_text("Traceback (most recent call last):\nMemoryError\n")
    command = [sys.executable, "-m", "gpualert_common", "classify", str(log), "--exit-code", "1"]
    found = subprocess.check_output([*command, "--json"], cwd=ROOT)
    verdict = json.loads(found)
    schema = json.loads(make_verdict_schema())
    parts = schema["$defs"]
    assert set(verdict) == set(parts["Verdict"]["required"]) == set(parts["Verdict"]["properties"])
    assert verdict["schema"] == parts["Verdict"]["properties"]["schema"]["const"]
    for key, name in (("shows", "Claim"), ("sources", "SourceStatus")):
        assert verdict[key]
        for part in verdict[key]:
            assert (
                set(parts[name].get("required", ())) <= set(part) <= set(parts[name]["properties"])
            )


def test_schema_describes_each_field() -> None:
    """Each property in the schema has a description without markup."""
    for part in json.loads(make_verdict_schema())["$defs"].values():
        for name, found in part.get("properties", {}).items():
            assert found["description"], name
            assert not re.search(r"[`\]]", found["description"])


def test_page_has_the_signature_of_run() -> None:
    """The page of the Python API has each argument of run(), with its default."""
    section = make_python_api_page().partition("### run()")[2].partition("###")[0]
    block = re.findall(r"^    (\w+): .*?( = .*)?,$", section, re.MULTILINE)
    parameters = inspect.signature(run).parameters.values()
    assert [name for name, _default in block] == [one.name for one in parameters]
    assert [bool(default) for _name, default in block] == [
        one.default is not one.empty for one in parameters
    ]


def test_page_has_no_markup_of_docstrings() -> None:
    """No role and no literal of reStructuredText is left on the page of the Python API."""
    text = re.sub(r"```.*?```", "", make_python_api_page(), flags=re.DOTALL)
    assert not re.search(r":\w+:`|``|:param", text)


@pytest.mark.parametrize("kind", [JobReport, NodeSummary])
def test_report_of_a_job(kind: type[msgspec.Struct]) -> None:
    """The page and the schema of the report of a job have each of its fields, described."""
    names = [field.name for field in msgspec.structs.fields(kind)]
    described = json.loads(make_job_schema())["$defs"][kind.__name__]["properties"]
    assert sorted(described) == sorted(names)
    assert all(one.get("description") or "$ref" in one for one in described.values())
    page = make_verdict_page().partition("## The report of a job")[2]
    assert all(f"| `{name}` |" in page for name in names)
