"""Precedence of settings, and errors that name the file and the key."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gpualert_common import run
from gpualert_common.errors import ConfigError
from gpualert_common.settings import OPTIONS, load_settings, parse_duration, parse_size
from tests.supervised import Lab, shell


@pytest.fixture
def here(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> Lab:
    """A lab whose directory is the working directory."""
    monkeypatch.chdir(lab.home)
    return lab


def write_user(lab: Lab, text: str) -> Path:
    """Write the user's configuration file."""
    path = lab.home / "xdg-config" / "gpualert" / "config.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def write_project(lab: Lab, text: str) -> Path:
    """Write the project's configuration file."""
    path = lab.home / "gpualert.toml"
    path.write_text(text)
    return path


def test_defaults(here: Lab) -> None:
    """Without a file or a variable every setting has its default as its origin."""
    assert here.state.parent == here.home
    settings = load_settings()
    assert settings.keys() == OPTIONS.keys()
    assert settings["grace"].value == 30.0
    assert settings["grace"].origin == "default"
    assert settings["timeout"].value is None


def test_precedence(here: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """Flag before variable before project file before user file before default."""
    user = write_user(here, 'grace = "1s"\n')
    assert (load_settings()["grace"].value, load_settings()["grace"].origin) == (1.0, str(user))
    project = write_project(here, "grace = 2\n")
    assert (load_settings()["grace"].value, load_settings()["grace"].origin) == (2.0, str(project))
    monkeypatch.setenv("GPUALERT_GRACE", "3")
    assert load_settings()["grace"].value == 3.0
    assert load_settings()["grace"].origin == "GPUALERT_GRACE"
    assert load_settings({"grace": "4s"})["grace"].value == 4.0
    assert load_settings({"grace": None})["grace"].value == 3.0


@pytest.mark.parametrize(
    ("text", "key", "words"),
    [
        ('grcae = "1s"', "grcae", "unknown key; did you mean grace"),
        ('zebra = "1s"', "zebra", "unknown key; known are state_dir, timeout, grace"),
        ('grace = "soon"', "grace", "'soon' is not a duration"),
        ("grace = true", "grace", "True is not a duration"),
        ("grace = -1", "grace", "negative"),
        ('grace = "none"', "grace", "a grace period is required"),
        ("hang_timeout = 0", "hang_timeout", "none switches the hang timeout off"),
        ('timeout = "inf"', "timeout", "not"),
        ("timeout = nan", "timeout", "not"),
        ('log_reserve = "1 parsec"', "log_reserve", "is not a size"),
        ('streams = "both"', "streams", "'both' is not one of auto, merged, apart"),
        ("streams = 3", "streams", "3 is not one of"),
        ('quiet = "perhaps"', "quiet", "neither true nor false"),
        ('state_dir = ""', "state_dir", "is not a path"),
        ("[grace]\nx = 1", "grace", "is not a duration"),
    ],
)
@pytest.mark.parametrize("write", [write_user, write_project], ids=["user", "project"])
def test_mistake_in_a_file(here: Lab, write, text: str, key: str, words: str) -> None:  # type: ignore[no-untyped-def]
    """A mistake in a file is an error that names the file and the key."""
    path = write(here, text)
    with pytest.raises(ConfigError, match=f"{path}: {key}: .*{words}"):
        load_settings()


def test_file_that_is_not_toml(here: Lab) -> None:
    """A file that is no TOML is named, with the place."""
    path = write_project(here, "grace = = 1")
    with pytest.raises(ConfigError, match=f"{path}: not valid TOML: .*line 1"):
        load_settings()


@pytest.mark.parametrize("content", [b"\xff\xfe", b"\0"])
def test_file_that_is_no_text(here: Lab, content: bytes) -> None:
    """A file that is no text is named."""
    (here.home / "gpualert.toml").write_bytes(content)
    with pytest.raises(ConfigError, match=r"gpualert\.toml"):
        load_settings()


def test_file_that_is_a_directory(here: Lab) -> None:
    """A directory in the place of the file is named."""
    (here.home / "gpualert.toml").mkdir()
    with pytest.raises(ConfigError, match=r"gpualert\.toml: it is not a regular file"):
        load_settings()


def test_mistake_in_a_variable(here: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """A mistake in a variable names the variable."""
    assert here.home.exists()
    monkeypatch.setenv("GPUALERT_GRACE", "soon")
    with pytest.raises(ConfigError, match="GPUALERT_GRACE: grace: 'soon'"):
        load_settings()


def test_mistake_in_an_argument(here: Lab) -> None:
    """A mistake in an argument of run() is an error before anything is launched."""
    with pytest.raises(ConfigError, match="argument: timeout: 'soon'"):
        run(["touch", "launched"], timeout="soon")
    assert not (here.home / "launched").exists()
    assert not here.records()


def test_mistake_in_a_flag(here: Lab) -> None:
    """A mistake in a flag is 125, one line, and nothing is launched."""
    done = here.gpualert("run", "--timeout", "soon", "--", "touch", "launched")
    assert done.returncode == 125
    assert done.stderr.startswith(b"gpualert: error: --timeout: 'soon'")
    assert done.stderr.count(b"\n") == 1
    assert not (here.home / "launched").exists()


def test_mistake_in_a_file_launches_nothing(here: Lab) -> None:
    """A wrong configuration file is 125 for ``run`` and 2 for a reading command."""
    write_project(here, "grcae = 1")
    assert here.gpualert("run", "--", "touch", "launched").returncode == 125
    assert not (here.home / "launched").exists()
    assert here.gpualert("runs").returncode == 2


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        (90, 90.0),
        (0.5, 0.5),
        ("90", 90.0),
        ("30s", 30.0),
        ("1.5h", 5400.0),
        ("10m", 600.0),
        ("250ms", 0.25),
        ("2 d", 172800.0),
        (" 30S ", 30.0),
        ("none", None),
        ("", None),
        (0, 0.0),
    ],
)
def test_duration(value: object, seconds: float | None) -> None:
    """A duration is a number of seconds or text with a unit."""
    assert parse_duration(value) == seconds


@pytest.mark.parametrize(
    "value", ["s", "1x", "1h30m", "-1s", "nan", "inf", "1e400", 1e9, "3651d", [], None, True]
)
def test_no_duration(value: object) -> None:
    """Anything else is refused."""
    with pytest.raises(ValueError, match=r"is not a|negative|longer than ten years"):
        parse_duration(value)


@pytest.mark.parametrize(
    ("value", "size"),
    [(0, 0), (4096, 4096), ("1MiB", 1 << 20), ("500KB", 500_000), ("1.5 gib", 3 << 29), ("7b", 7)],
)
def test_size(value: object, size: int) -> None:
    """A size is a number of bytes or text with a unit."""
    assert parse_size(value) == size


@pytest.mark.parametrize("value", ["MiB", "1 TB?", "-1", "inf", "1e400", None, False])
def test_no_size(value: object) -> None:
    """Anything else is refused."""
    with pytest.raises(ValueError, match=r"is not a|negative"):
        parse_size(value)


def test_settings_reach_the_run(here: Lab) -> None:
    """Settings of the project file apply to the run."""
    write_project(here, 'timeout = "0.2s"\ngrace = "5s"\nstreams = "merged"\nquiet = true\n')
    done = here.run("sleep", "1000")
    assert (done.returncode, done.stderr) == (124, b"")
    assert here.record().spec.grace_s == 5.0
    assert here.record().logs == ["output.log"]


def test_flag_wins_for_the_run(here: Lab) -> None:
    """A flag wins over the project file."""
    write_project(here, 'streams = "merged"\n')
    here.gpualert("run", "--streams", "apart", "--", "true")
    assert here.record().logs == ["stdout.log", "stderr.log"]


def test_argument_wins_for_the_api(here: Lab) -> None:
    """An argument wins over the project file."""
    write_project(here, 'streams = "merged"\ntimeout = 0.1\n')
    result = run(shell("sleep 0.3; exit 3"), streams="apart", timeout="10s")
    assert result.exit_code == 3
    assert result.record.logs == ["stdout.log", "stderr.log"]


def test_config_show(here: Lab) -> None:
    """``config show`` gives every setting with its origin, as text and as JSON."""
    path = write_project(here, "grace = 7\n")
    shown = json.loads(here.gpualert("config", "show", "--json").stdout)
    assert shown["settings"]["grace"] == {"value": 7.0, "origin": str(path)}
    assert shown["settings"]["timeout"] == {"value": None, "origin": "default"}
    text = here.gpualert("config", "show").stdout.decode()
    named = [line.removeprefix("# ").split()[0] for line in text.splitlines()]
    assert named == [name for name in OPTIONS if name != "channels"]
    (line,) = (line for line in text.splitlines() if line.startswith("grace = "))
    assert line.split() == ["grace", "=", '"7s"', "#", str(path)]
