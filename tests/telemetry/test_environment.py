"""Tests of the source ``environment``: facts of a run without its secrets."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from gpualert_common.processes.procfs import parse_environment
from gpualert_common.telemetry.source import SourceUnavailableError
from tests.supervised import Lab, python, shell
from tests.telemetry import host

WAIT = "import sys; print(flush=True); sys.stdin.readline()"


def facts(lab: Lab, command: tuple[str, ...], given: Mapping[str, str]) -> Mapping[str, Any]:
    """Return the facts of a leader with this command and environment."""
    path = os.environ.get("PATH", "")
    child = lab.start(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={lab.mark: "1", "PATH": path, **given},
    )
    assert child.stdout is not None
    assert child.stdout.readline()
    return host.opened("environment", child.pid).facts


def test_variables_that_explain(lab: Lab) -> None:
    """Relevant variables are recorded unchanged; others are left out."""
    given = {
        "CUDA_LAUNCH_BLOCKING": "1",
        "CUDA_VISIBLE_DEVICES": "",
        "NCCL_SOCKET_IFNAME": "^lo,docker0",
        "MASTER_ADDR": "node1",
        "SLURM_RESTART_COUNT": "2",
        "XLA_FLAGS": "--xla_gpu_x=1",
        "TORCHELASTIC_RUN_ID": "r",
        "SOMETHING": "else",
        "TF_VAR_database": "theirs",
    }
    found = facts(lab, python(WAIT), given)
    left_out = {"SOMETHING", "TF_VAR_database"}
    assert found["variables"] == {name: given[name] for name in given if name not in left_out}
    assert found["secrets_left_out"] == 0


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("NCCL_TOKEN", "x"),
        ("TORCH_API_KEY", "x"),
        ("PYTORCH_secret_sauce", "x"),
        ("UCX_PASSWORD", "x"),
        ("CUDA_PASSPHRASE", "x"),
        ("JAX_CREDENTIALS", "x"),
        ("TORCH_HOME", "https://me:hunter2@mirror.example/x"),
        ("HF_HOME", "s3://key@bucket"),
    ],
)
def test_secrets_are_left_out(lab: Lab, name: str, value: str) -> None:
    """Neither name nor value of a possible secret is recorded, only the number of secrets."""
    found = facts(lab, python(WAIT), {name: value, "RANK": "0"})
    assert found["variables"] == {"RANK": "0"}
    assert found["secrets_left_out"] == 1
    assert "hunter2" not in str(found)


def test_a_flood_of_variables_is_cut(lab: Lab) -> None:
    """Neither many variables nor long values make the facts large."""
    given = {f"NCCL_{number}": "x" * 5000 for number in range(300)}
    found = facts(lab, python(WAIT), given)["variables"]
    assert len(found) == 200
    assert max(map(len, found.values())) == 500


def test_odd_environments() -> None:
    """The first of equal names counts; invalid entries and invalid UTF-8 do no harm."""
    found = parse_environment(b"A=1\0A=2\0nothing\0=x\0B=a=b\0C=\xff\0\0")
    assert found == {"A": "1", "": "x", "B": "a=b", "C": "\ufffd"}


def test_the_machine(lab: Lab) -> None:
    """Host, kernel, processors and memory are recorded."""
    found = facts(lab, ("taskset", "--cpu-list", "0", *python(WAIT)), {})
    assert found["hostname"] == os.uname().nodename
    assert found["kernel"] == os.uname().release
    assert found["cpus"] == os.cpu_count()
    assert found["cpus_allowed"] == 1
    assert found["memory_bytes"] > 100 << 20


# -- versions --------------------------------------------------------------------------------


@pytest.fixture
def prefix(tmp_path: Path) -> Path:
    """A virtual environment with an installed torch, as folders."""
    place = tmp_path / "venv"
    site = place / "lib" / f"python3.{sys.version_info.minor}" / "site-packages"
    site.mkdir(parents=True)
    (place / "bin").mkdir()
    (place / "bin" / "python").symlink_to(sys.executable)
    (place / "pyvenv.cfg").write_text(f"home = {Path(sys.base_prefix) / 'bin'}\n")
    for folder in ("torch-2.13.0+cu130", "Transformers-5.23.0", "pip-26.1", "torch_geometric-2.7"):
        (site / f"{folder}.dist-info").mkdir()
    (site / "numpy-9.9.dist-info.txt").touch()
    return place


def expected(prefix: Path) -> dict[str, str]:
    """Return the expected versions."""
    return {
        "python": f"3.{sys.version_info.minor}",
        "prefix": str(prefix),
        "torch": "2.13.0+cu130",
        "transformers": "5.23.0",
    }


def test_versions_of_a_python(lab: Lab, prefix: Path) -> None:
    """For a Python leader, versions come from the environment in which it runs."""
    found = facts(lab, (str(prefix / "bin" / "python"), "-c", WAIT), {})
    assert found["versions"] == expected(prefix)


def test_versions_for_a_shell(lab: Lab, prefix: Path) -> None:
    """For a shell, versions come from the active virtual environment."""
    found = facts(lab, shell("echo; read line"), {"VIRTUAL_ENV": str(prefix)})
    assert found["versions"] == expected(prefix)


def test_a_python_named_by_path(lab: Lab, prefix: Path) -> None:
    """A Python found by PATH or by a relative path is recognized."""
    path = f"{prefix / 'bin'}:{os.environ.get('PATH', '')}"
    by_name = shell('exec python -c "$0"')
    found = facts(lab, (*by_name, WAIT), {"PATH": path})
    assert found["versions"] == expected(prefix)
    relative = os.path.relpath(prefix, lab.home)
    found = facts(lab, (*shell(f'exec {relative}/bin/python -c "$0"'), WAIT), {})
    assert found["versions"]["torch"] == "2.13.0+cu130"


def test_packages_where_debian_has_them(lab: Lab, prefix: Path) -> None:
    """A Debian Python has its packages in a folder of another name."""
    (site,) = (prefix / "lib").glob("*/site-packages")
    site.rename(site.with_name("dist-packages"))
    found = facts(lab, (str(prefix / "bin" / "python"), "-c", WAIT), {})
    assert found["versions"]["torch"] == "2.13.0+cu130"


def test_no_python_at_all(lab: Lab) -> None:
    """A leader that is not Python has no versions."""
    assert facts(lab, shell("echo; read line"), {})["versions"] == {}


# -- unavailable -------------------------------------------------------------------------------


def test_a_leader_that_has_ended() -> None:
    """The source is unavailable for an ended process."""
    gone = subprocess.Popen(("true",))
    gone.wait()
    with pytest.raises(SourceUnavailableError):
        host.opened("environment", gone.pid)


@pytest.mark.e2e
def test_another_users_leader(lab: Lab) -> None:
    """An unreadable environment is unavailable, not empty."""
    code = (
        "import os, sys\n"
        "from tests.telemetry import host\n"
        "host.load_source_class('environment')\n"
        "os.setgroups([]); os.setgid(65534); os.setuid(65533)\n"
        "try: host.opened('environment', int(sys.argv[1]))\n"
        "except Exception as error: print(error, error.remedy)"
    )
    repository = Path(__file__).parents[2]
    done = lab.call((*python(code), str(os.getpid())), cwd=repository)
    assert b"cannot be read" in done.stdout
    assert b"as root" in done.stdout
