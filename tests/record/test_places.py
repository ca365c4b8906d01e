"""Places of the log before the launch, and the checks of a place."""

from __future__ import annotations

import fnmatch
import json
import os
import pwd
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from gpualert_common import run
from gpualert_common.record import Record
from tests.supervised import PROGRAM, Lab, python, shell, until

ROOT = Path(__file__).parents[2]


def as_ordinary_user() -> tuple[str, ...]:
    """Words before a command so that file modes and HOME apply to it, also for root."""
    if os.geteuid() != 0:
        return ()
    return "unshare", "--user", "--map-user=1000", "--map-group=1000"


def _file(lab: Lab) -> str:
    return lab.script("file", "")


def _below_a_file(lab: Lab) -> str:
    return lab.script("file", "") + "/state"


def _read_only(lab: Lab) -> str:
    (lab.home / "read-only").mkdir(0o500)
    return str(lab.home / "read-only")


def _runs_is_read_only(lab: Lab) -> str:
    (lab.home / "half" / "runs").mkdir(0o500, parents=True)
    return str(lab.home / "half")


def _runs_is_a_file(lab: Lab) -> str:
    (lab.home / "odd").mkdir()
    lab.script("odd/runs", "")
    return str(lab.home / "odd")


def _runs_is_a_dangling_link(lab: Lab) -> str:
    (lab.home / "linked").mkdir()
    (lab.home / "linked" / "runs").symlink_to("/proc/nowhere")
    return str(lab.home / "linked")


def _no_directory_may_be_made(_lab: Lab) -> str:
    return "/proc/gpualert"


UNUSABLE = (
    _file,
    _below_a_file,
    _read_only,
    _runs_is_read_only,
    _runs_is_a_file,
    _runs_is_a_dangling_link,
    _no_directory_may_be_made,
)
unusable = pytest.mark.parametrize("make", UNUSABLE, ids=lambda make: make.__name__.strip("_"))


@unusable
def test_next_place_is_taken(
    lab: Lab, monkeypatch: pytest.MonkeyPatch, make: Callable[[Lab], str]
) -> None:
    """An unusable place is skipped; the record and a line on stderr name it."""
    place = make(lab)
    monkeypatch.setenv("GPUALERT_STATE_DIR", place)
    done = lab.call((*as_ordinary_user(), *PROGRAM, "run", "--", *shell("echo hi; exit 3")))
    assert done.returncode == 3
    (path,) = lab.home.glob("xdg-state/gpualert-instead-of-*/runs/*")
    assert (path / "stdout.log").read_bytes() == b"hi\n"
    ((tried, problem),) = Record.open(str(path)).spec.tried
    assert tried == place
    assert f"gpualert: no log at {place}: {problem}\n".encode() in done.stderr
    assert f"gpualert: the record is {path}\n".encode() in done.stderr


@pytest.mark.parametrize("home", ["/proc/nowhere", "{home}/read-only", "{home}/file"])
def test_unwritable_home(lab: Lab, monkeypatch: pytest.MonkeyPatch, home: str) -> None:
    """An ordinary user without a writable HOME has the log under TMPDIR."""
    (lab.home / "read-only").mkdir(0o500)
    lab.script("file", "")
    for name in ("GPUALERT_STATE_DIR", "XDG_STATE_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", home.format(home=lab.home))
    command = (*as_ordinary_user(), *PROGRAM, "run", "--", *shell("exit 3"))
    assert lab.call(command).returncode == 3
    assert len(list((lab.home / "tmp").glob("gpualert-*/runs/*/exit.json"))) == 1


PLACES: dict[str, tuple[dict[str, str], list[str]]] = {
    "nothing set": ({}, ["{home}/.local/state/gpualert", "/tmp/gpualert-{uid}*"]),
    "XDG_STATE_HOME": ({"XDG_STATE_HOME": "/x"}, ["/x/gpualert", "/tmp/gpualert-{uid}*"]),
    "relative XDG_STATE_HOME": (
        {"XDG_STATE_HOME": "x"},
        ["{home}/.local/state/gpualert", "/tmp/gpualert-{uid}*"],
    ),
    "HOME": ({"HOME": "/h"}, ["/h/.local/state/gpualert", "/tmp/gpualert-{uid}*"]),
    "relative HOME": ({"HOME": "h"}, ["/tmp/gpualert-{uid}"]),
    "TMPDIR": ({"TMPDIR": "/t"}, ["{home}/.local/state/gpualert", "/t/gpualert-{uid}*"]),
}


@pytest.mark.parametrize("case", PLACES)
def test_order_of_places(lab: Lab, case: str) -> None:
    """The order of the places of an ordinary user; without HOME the password database counts."""
    variables, expected = PLACES[case]
    code = (
        "import os; os.geteuid = os.getuid = lambda: 4242\n"
        "from gpualert_common.record_locations import list_state_dirs\n"
        "print(chr(10).join(list_state_dirs()))"
    )
    home = pwd.getpwuid(4242).pw_dir if 4242 in [row.pw_uid for row in pwd.getpwall()] else None
    found = lab.call(("env", "-i", f"PYTHONPATH={ROOT}", *_pairs(variables), *python(code)))
    names = found.stdout.decode().split()
    patterns = [
        place.format(home=home, uid=4242)
        for place in expected
        if home is not None or "{home}" not in place
    ]
    assert len(names) == len(patterns)
    assert all(map(fnmatch.fnmatchcase, names, patterns)), names


def _pairs(variables: dict[str, str]) -> list[str]:
    return [f"{name}={value}" for name, value in variables.items()]


def test_configured_place_is_made(lab: Lab) -> None:
    """A missing state directory is created with its parents."""
    place = lab.home / "a" / "b" / "c"
    assert lab.gpualert("run", "--state-dir", str(place), "--", "true").returncode == 0
    assert list((place / "runs").iterdir())


def test_relative_place_from_a_deleted_directory(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """A relative state directory below a deleted working directory is skipped."""
    monkeypatch.setenv("GPUALERT_STATE_DIR", "here")
    code = 'mkdir gone; cd gone; rmdir ../gone; exec "$@"'
    command = ("sh", "-c", code, "sh", *PROGRAM, "run", "--", *shell("exit 3"))
    assert lab.call(command).returncode == 3


def test_deleted_working_directory_before_launch(lab: Lab) -> None:
    """A run from a deleted working directory works."""
    code = 'mkdir gone; cd gone; rmdir ../gone; exec "$@"'
    command = ("sh", "-c", code, "sh", *PROGRAM, "run", "--", *shell("echo hi; exit 3"))
    assert lab.call(command).returncode == 3
    assert lab.log() == b"hi\n"
    assert lab.record().spec.cwd is None


def test_working_directory_deleted_in_mid_run(lab: Lab) -> None:
    """A working directory that is deleted during the run has no effect."""
    (lab.home / "work").mkdir()
    child = shell("rmdir ../work; echo hi; sleep 0.1; exit 3")
    assert lab.run(*child, cwd=lab.home / "work").returncode == 3
    assert lab.log() == b"hi\n"
    verdict = until(lambda: lab.json("show")["verdict"], "the verdict")
    assert verdict["exit_code"] == 3


def test_log_exists_before_the_child(lab: Lab) -> None:
    """Log and launch record exist before the child starts, with reserved space."""
    code = "cd $GPUALERT_STATE_DIR/runs/*; cat spec.json; stat -c '%n %b' *.log"
    spec, *logs = lab.run(*shell(code)).stdout.decode().splitlines()
    assert json.loads(spec)["reserved_bytes"] == 1 << 20
    assert [log.split()[0] for log in logs] == ["stderr.log", "stdout.log"]
    assert all(int(log.split()[1]) * 512 >= 1 << 20 for log in logs)


def test_no_nul_before_the_log(lab: Lab) -> None:
    """The reserve adds nothing to the log, and its unused part is freed."""
    lab.run(*shell("echo first"))
    assert lab.log() == b"first\n"
    log = lab.records()[0] / "stdout.log"
    until(lambda: log.stat().st_blocks * 512 < 1 << 20, "the rest of the reserve to be given back")


def test_reserve_can_be_left_out(lab: Lab) -> None:
    """``--log-reserve 0`` reserves nothing, and the log is still checked to be writable."""
    assert lab.gpualert("run", "--log-reserve", "0", "--", *shell("echo hi")).returncode == 0
    assert lab.log() == b"hi\n"
    (path,) = lab.records()
    until(lambda: not any(path.glob(".*")), "what was only needed while it ran to be gone")


def test_reserve_that_no_disk_has(lab: Lab) -> None:
    """If the space cannot be reserved nothing is launched, and no partial record is left."""
    done = lab.gpualert("run", "--log-reserve", "8000000GiB", "--", "touch", "launched")
    assert done.returncode == 125
    assert b"No space left" in done.stderr or b"File too large" in done.stderr
    assert not (lab.home / "launched").exists()
    assert lab.records() == []


def test_limit_on_file_size(lab: Lab) -> None:
    """With a file size limit of 0 nothing is launched, and its signal has no effect."""
    command = ("sh", "-c", 'ulimit -f 0; exec "$@"', "sh", *PROGRAM, "run", "--", "true")
    done = lab.call(command)
    assert done.returncode == 125
    assert b"File too large" in done.stderr


def test_modes_under_an_open_umask(lab: Lab) -> None:
    """Other users can neither read nor write a record, with any umask."""
    code = "echo hi; sleep 0.1; exit 3"
    done = lab.call(("sh", "-c", 'umask 0; exec "$@"', "sh", *PROGRAM, "run", "--", *shell(code)))
    assert done.returncode == 3
    for path in [lab.state, *lab.state.rglob("*")]:
        mode = stat.S_IMODE(path.stat().st_mode)
        assert mode == (0o700 if path.is_dir() else 0o600), f"{path} {mode:o}"


def test_requests_are_private_too(lab: Lab) -> None:
    """The directory for requests has the modes of the record, with any umask."""
    child = lab.launch(*shell("echo ready; sleep 1000"))
    child.wait_for_output(b"ready")
    lab.call(("sh", "-c", 'umask 0; exec "$@"', "sh", *PROGRAM, "stop"))
    child.wait()
    assert stat.S_IMODE((lab.records()[0] / "control").stat().st_mode) == 0o700


def test_record_holds_no_values_of_variables(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """The launch record has the names of the variables and not their values."""
    monkeypatch.setenv("API_TOKEN", "hunter2")
    lab.run("true")
    spec = (lab.records()[0] / "spec.json").read_bytes()
    assert b"API_TOKEN" in spec
    assert b"hunter2" not in spec


def test_launch_record_is_complete(lab: Lab) -> None:
    """The launch record has the request, the place, the time and the user."""
    lab.gpualert("run", "--name", "mnist", "--timeout", "10m", "--grace", "3s", "--", "true", "a b")
    spec = lab.record().spec
    assert spec.command == ("true", "a b")
    assert (spec.name, spec.timeout_s, spec.grace_s) == ("mnist", 600.0, 3.0)
    assert (spec.cwd, spec.uid, spec.tried) == (str(lab.home), os.getuid(), ())
    assert spec.host == os.uname().nodename
    assert spec.run_id == lab.records()[0].name


def test_child_knows_its_run(lab: Lab) -> None:
    """The child has its run id in GPUALERT_RUN_ID, and Python defaults that keep its output."""
    code = "import os; e = os.environ; print(e['GPUALERT_RUN_ID'], e['PYTHONUNBUFFERED'])"
    done = lab.run(*python(code))
    assert done.stdout == f"{lab.records()[0].name} 1\n".encode()


def test_own_settings_of_the_child_are_kept(lab: Lab) -> None:
    """PYTHONUNBUFFERED and PYTHONFAULTHANDLER are not changed if they are set."""
    env = {**os.environ, "PYTHONUNBUFFERED": "", "PYTHONFAULTHANDLER": "0"}
    result = run(shell('echo "[$PYTHONUNBUFFERED][$PYTHONFAULTHANDLER]"'), env=env)
    assert Path(result.log_path).read_bytes() == b"[][0]\n"


def test_killed_python_child_has_its_last_line_in_the_log(lab: Lab) -> None:
    """A Python child's prints are in the log even when SIGKILL follows at once."""
    result = run(python("import os\nfor n in range(50): print(n)\nos.kill(os.getpid(), 9)"))
    assert result.exit_code == -9
    assert Path(result.log_path).read_bytes().endswith(b"\n49\n")


def test_twenty_runs_at_once(lab: Lab) -> None:
    """Twenty runs in one state directory have twenty records, none mixed up."""
    command = (*PROGRAM, "run", "-q", "--")
    runs = [lab.start((*command, *shell(f"echo {n}; exit {n}"))) for n in range(20)]
    assert [process.wait(60) for process in runs] == list(range(20))
    rows = lab.json("runs")["runs"]
    assert sorted(row["exit_code"] for row in rows) == list(range(20))
    for row in rows:
        assert Path(row["logs"][0]).read_text() == f"{row['exit_code']}\n"
    until(lab.is_empty, "all of it to have ended")
