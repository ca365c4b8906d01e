"""The package as Airflow sees it before any task runs."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from importlib import import_module
from pathlib import Path

import pytest
from gpualert_provider import __version__, get_provider_info
from gpualert_provider.output import last_line

from gpualert_common.external_run import record_run
from gpualert_common.spec import Ending
from tests.airflow.conftest import needs_form
from tests.supervised import Lab

PACKAGE = "airflow-provider-gpualert"


def test_provider_info_is_valid() -> None:
    """The metadata follow Airflow's schema, and name modules that exist."""
    import airflow
    import jsonschema  # type: ignore[import-untyped]  # comes with Airflow

    (root,) = (Path(place) for place in airflow.__path__ if Path(place, "models").is_dir())
    info = get_provider_info()
    jsonschema.validate(info, json.loads((root / "provider_info.schema.json").read_text()))
    for integration in info["operators"]:  # type: ignore[attr-defined]
        for module in integration["python-modules"]:
            import_module(module)
    decorators = [entry["class-name"] for entry in info["task-decorators"]]  # type: ignore[attr-defined]
    hooks = [entry["hook-class-name"] for entry in info["connection-types"]]  # type: ignore[attr-defined]
    for dotted in (*info["notifications"], *info["extra-links"], *decorators, *hooks):  # type: ignore[misc]
        module, _, name = dotted.rpartition(".")
        assert hasattr(import_module(module), name)


def test_provider_info_imports_nothing() -> None:
    """The metadata import neither Airflow nor the core, since every Airflow command reads them."""
    code = "import gpualert_provider as p, sys; p.get_provider_info(); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert loaded.isdisjoint({"airflow", "gpualert_common.record", "gpualert_common.api"})


def test_plugin_imports_no_pages() -> None:
    """The plugin, which every program of Airflow loads, imports nothing that only pages need."""
    code = (
        "import airflow.plugins_manager, importlib.util, sys\n"
        "if importlib.util.find_spec('airflow.sdk.plugins_manager'):\n"
        "    import airflow.sdk.plugins_manager\n"
        "before = {*sys.modules}\n"
        "from gpualert_provider.plugin import GPUAlertPlugin; print(*{*sys.modules} - before)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.splitlines()[-1].split()) - {"gpualert_common._version"}
    assert "gpualert_provider.page_paths" in loaded
    assert [name for name in loaded if name.startswith("gpualert_common.")] == []
    assert loaded.isdisjoint({"fastapi", "starlette", "jinja2", "vl_convert"})


@pytest.mark.parametrize(
    ("command", "shown"),
    [
        ("list", {"package_name": PACKAGE, "version": __version__}),
        (f"get {PACKAGE}", {"Provider": PACKAGE, "Version": __version__}),
        (
            "hooks",
            {
                "connection_type": "gpualert",
                "class": "gpualert_provider.hooks.gpualert.GPUAlertHook",
                "conn_id_attribute_name": "gpualert_conn_id",
                "package_name": PACKAGE,
                "hook_name": "GPUAlert",
            },
        ),
        ("links", {"extra_link_class_name": "gpualert_provider.links.VerdictLink"}),
        (
            "notifications",
            {
                "notification_class_name": (
                    "gpualert_provider.notifications.gpualert.GPUAlertNotifier"
                )
            },
        ),
        pytest.param("behaviours", {"field_behaviours": "gpualert"}, marks=needs_form),
        pytest.param(
            "widgets",
            {"connection_parameter_name": "extra__gpualert__to", "package_name": PACKAGE},
            marks=needs_form,
        ),
    ],
)
def test_airflow_shows_it(command: str, shown: dict[str, str]) -> None:
    """``airflow providers`` lists the package and its components."""
    program = [str(Path(sys.executable).with_name("airflow")), "providers", *command.split()]
    done = subprocess.run([*program, "-o", "json"], capture_output=True, text=True, check=True)
    rows = json.loads(done.stdout)
    assert [row for row in rows if shown.items() <= row.items()] != []
    assert "gpualert" not in done.stderr


@pytest.mark.parametrize("size", [0, 1, 65535, 65536, 65537, 200_000])
@pytest.mark.parametrize("end", ["", "\n"])
def test_last_line_of_any_length(lab: Lab, size: int, end: str) -> None:
    """The last line is complete for any position of the block boundaries."""
    log = ("before\n" + "x" * size + end).encode()
    record = record_run(Ending(time.time()), state_dir=str(lab.state), log=log)
    expected = "x" * size if size or end else "before"
    assert last_line(record, "utf-8") == expected
