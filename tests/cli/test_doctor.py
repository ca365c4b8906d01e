"""Tests of ``gpualert doctor``, also with sources that fail or hang."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest

from gpualert_common.telemetry.source import list_sources
from tests.supervised import Lab, python

ROOT = Path(__file__).parents[2]

DOCTOR = """
import argparse, sys
from gpualert_common.cli.commands.doctor import execute as doctor
{break_it}
sys.exit(doctor(argparse.Namespace(json="--json" in sys.argv)))
"""


def diagnose(lab: Lab, break_it: str = "", **options: Any) -> dict[str, dict[str, Any]]:
    """Return its JSON for each source, in a process that was prepared by this code."""
    command = (*python(DOCTOR.format(break_it=break_it)), "--json")
    done = lab.call(command, cwd=ROOT, **options)
    assert done.returncode == 0, done.stderr
    value = json.loads(done.stdout)
    assert value["schema"] == 1
    return {one["name"]: one for one in value["sources"]}


def test_every_source_is_listed(lab: Lab) -> None:
    """Each source is listed with its use, and with the reason if it does not work."""
    findings = diagnose(lab)
    assert list(findings) == list_sources()
    for one in findings.values():
        assert set(one) == {"name", "works", "decides", "why", "remedy"}
        assert one["decides"]
        assert one["works"] == (not one["why"])


def test_sources_that_work_everywhere(lab: Lab) -> None:
    """Some sources work for every user on every Linux."""
    findings = diagnose(lab)
    assert all(findings[name]["works"] for name in ("processes", "disk", "environment"))


def test_the_table(lab: Lab) -> None:
    """The text has a line for each source, with the missing parts and the remedy below."""
    source = "from gpualert_common.telemetry.sources import kernel_log"
    broken = f"{source}\nkernel_log.PATH = '/nowhere/kmsg'"
    done = lab.call(python(DOCTOR.format(break_it=broken)), cwd=ROOT)
    lines = done.stdout.decode().splitlines()
    assert [line.split()[0] for line in lines if not line.startswith(" ")] == list_sources()
    (at,) = [number for number, line in enumerate(lines) if line.startswith("kernel_log ")]
    assert lines[at].split()[1] == "no"
    assert lines[at + 1].strip().startswith("why: /nowhere/kmsg")
    assert lines[at + 2].strip().startswith("remedy: ")


def test_a_source_that_hangs(lab: Lab) -> None:
    """A source that does not open in time is reported; all others are listed as well."""
    os.mkfifo(lab.home / "memory")  # opening it for reading waits for a writer
    broken = (
        "from gpualert_common.cli.commands import doctor as module\n"
        "module.DEADLINE_S = 0.5\n"
        "from gpualert_common.telemetry.sources import pressure\n"
        f"pressure.HOST = {str(lab.home)!r}"
    )
    findings = diagnose(lab, broken)
    assert findings["pressure"]["works"] is False
    assert "0.5 s" in findings["pressure"]["why"]
    assert findings["processes"]["works"] is True
    assert list(findings) == list_sources()


@pytest.mark.parametrize(
    ("dies", "why"),
    [
        ("raise ValueError('of all things')", "ValueError: of all things"),
        ("os._exit(3)", "exited with status 3"),
        ("os.kill(os.getpid(), 11)", "killed by signal 11"),
        ("sys.exit('gone')", "SystemExit: gone"),
    ],
)
def test_a_source_that_fails(lab: Lab, dies: str, why: str) -> None:
    """A source that raises, or kills its process, is reported; the others are listed, too."""
    broken = (
        "import os\n"
        "from gpualert_common.telemetry.sources import pressure\n"
        "def opens(path):\n"
        f"    {dies}\n"
        "pressure._read_stalls = opens"
    )
    findings = diagnose(lab, broken)
    assert findings["pressure"]["works"] is False
    assert why in findings["pressure"]["why"]
    assert findings["processes"]["works"] is True


def test_a_driver_that_prints(lab: Lab) -> None:
    """Output of a library while a source opens does not damage the JSON."""
    broken = (
        "import os\n"
        "from gpualert_common.telemetry.sources import pressure\n"
        "pressure._read_stalls = lambda path: os.write(1, b'driver speaking')"
    )
    assert diagnose(lab, broken)["pressure"]["works"] is True


@pytest.mark.e2e
def test_without_the_right_to_read_the_log(lab: Lab) -> None:
    """Without the right to read the kernel's log the reason and the remedy are reported."""
    restricted = Path("/proc/sys/kernel/dmesg_restrict").read_text().strip() == "1"
    kmsg = Path("/dev/kmsg")
    there = kmsg.exists() and stat.S_ISCHR(kmsg.stat().st_mode)
    unprivileged = ("setpriv", "--bounding-set=-syslog,-sys_admin", "--")
    done = lab.call((*unprivileged, *python(DOCTOR.format(break_it="")), "--json"), cwd=ROOT)
    (log,) = [one for one in json.loads(done.stdout)["sources"] if one["name"] == "kernel_log"]
    assert log["works"] == (there and not restricted)
    if there and restricted:
        assert os.strerror(1) in log["why"]
        assert "CAP_SYSLOG" in log["remedy"]
