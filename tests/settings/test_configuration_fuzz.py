"""Any content of a settings file gives settings or an error that names it, and never hangs."""

from __future__ import annotations

import argparse
import json
import os
import signal
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from gpualert_common.api import make_spec
from gpualert_common.cli.commands import config
from gpualert_common.errors import GPUAlertError
from gpualert_common.notify.channel_config import channel_kinds
from gpualert_common.settings import OPTIONS, load_settings
from tests.supervised import Lab

FUZZ_S = float(os.environ.get("FUZZ_S", "900"))
"""Duration of the long pass; with runs of a command in between."""
EXAMPLE_S = 30
"""Far above the time for one file."""

VALID = """\
grace = "2m"
timeout = 90
notify = ["mail", "mailbox:alerts", "command:./notify --now", "slack://a/b/c"]
notify_on = "always"
artifact = ["out/*.csv"]
rules = "rules"
quiet = true

[channels.mail]
kind = "smtp"
host = "mail.example.org"
to = ["me@example.org"]
password = "env:PASSWORD"

[channels.pager]
kind = "command"
command = ["./page", "--loud"]
"""


def write_toml(value: object) -> str:
    """Return a value of a tree as TOML."""
    if isinstance(value, dict):
        items = (f"{json.dumps(key)} = {write_toml(below)}" for key, below in value.items())
        return f"{{{', '.join(items)}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(write_toml, value))}]"
    return value.literal if isinstance(value, Literal) else json.dumps(value)


class Literal:
    """A value of TOML that JSON lacks."""

    def __init__(self, literal: str) -> None:
        self.literal = literal


LITERALS = st.sampled_from(
    ["1979-05-27", "07:32:00", "1979-05-27T07:32:00Z", "inf", "-inf", "nan", "0x7f", "1e400"]
).map(Literal)
WORDS = st.sampled_from(
    ["", "none", "mailbox", "../../x", "~", "~nobody", "/", "file:/dev/zero", "env:", "a.b",
     "smtp://", "smtp://[", "command:'", "x://y", "1h", "-1", "inf", "\0", "\ud800", "a" * 5000]
) | st.sampled_from(channel_kinds()) | st.text(max_size=20)  # fmt: skip
SCALARS = WORDS | LITERALS | st.booleans() | st.integers() | st.floats(allow_nan=False)
KEYS = st.sampled_from([*OPTIONS, "kind", "name", "url", "host", "to", "command", "path"]) | WORDS
TREES = st.recursive(
    SCALARS,
    lambda below: st.lists(below, max_size=4) | st.dictionaries(KEYS, below, max_size=5),
    max_leaves=12,
)
OPTION = st.sampled_from(list(OPTIONS))
CHANNEL = st.dictionaries(KEYS, SCALARS, max_size=5) | TREES
CHANNELS = st.dictionaries(WORDS, CHANNEL, max_size=3)
TABLES = st.dictionaries(OPTION, TREES, max_size=4) | st.builds(
    lambda channels: {"channels": channels, "notify": list(channels)}, CHANNELS
)


def write_file(tree: Mapping[str, object]) -> bytes:
    """Return a settings file with this table."""
    lines = (f"{json.dumps(key)} = {write_toml(value)}\n" for key, value in tree.items())
    return "".join(lines).encode()


def encode(tree: object) -> bytes:
    """Return a value of a tree as the bytes of TOML."""
    return write_toml(tree).encode()


@st.composite
def mutated(draw: st.DrawFn) -> bytes:
    """Return a valid file with a part that is replaced."""
    data = VALID.encode()
    begin = draw(st.integers(0, len(data)))
    end = draw(st.integers(begin, min(begin + 40, len(data))))
    inserted = draw(st.binary(max_size=20) | TREES.map(encode))
    return data[:begin] + inserted + data[end:]


FILES = st.binary(max_size=300) | TABLES.map(write_file) | mutated()


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """A lab whose directory is the working directory."""
    with pytest.MonkeyPatch.context() as patch:
        lab = Lab(tmp_path_factory.mktemp("fuzz"))
        for name, value in lab.environment().items():
            patch.setenv(name, value)
        patch.delenv("GPUALERT_NOTIFY")
        patch.chdir(lab.home)
        yield lab
        lab.end_everything()


def report_hang(_number: int, _frame: object) -> None:
    """Fail an example that takes too long."""
    raise AssertionError(f"no answer within {EXAMPLE_S} s")


def check_file(path: Path, content: bytes) -> None:
    """Load, show and resolve the settings of a file; every error is one for its user."""
    path.write_bytes(content)
    path.chmod(0o644)
    before = signal.signal(signal.SIGALRM, report_hang)
    signal.alarm(EXAMPLE_S)
    try:
        config.execute(argparse.Namespace(config_action="show", json=True))
        config.execute(argparse.Namespace(config_action="show", json=False))
        json.dumps(make_spec(["true"], load_settings(), cwd=None, name=None).alerts)
    except GPUAlertError:
        pass  # the file is wrong, and the error says so
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


@given(content=FILES)
@hypothesis_settings(
    max_examples=150, deadline=None, suppress_health_check=list(HealthCheck), database=None
)
def check_files(place: Lab, content: bytes) -> None:
    """Check many files."""
    check_file(place.home / "gpualert.toml", content)


def test_any_file(place: Lab, capsys: pytest.CaptureFixture[str]) -> None:
    """Random bytes, random tables and changed valid files are settings or errors."""
    check_files(place)


def run_with_any_file(place: Lab, content: bytes) -> None:
    """Start a command with a settings file: it runs, or the launch is refused in one line."""
    (place.home / "gpualert.toml").write_bytes(content)
    state = str(place.home / "state")
    done = place.gpualert("run", "--state-dir", state, "--notify", "none", "--", "true")
    assert done.returncode in (0, 124, 125), done.stderr
    assert b"Traceback" not in done.stderr


@pytest.mark.nightly
def test_any_file_for_long(place: Lab, capsys: pytest.CaptureFixture[str]) -> None:
    """The same for a quarter of an hour, with runs of a command in between."""

    @given(content=FILES)
    @hypothesis_settings(
        max_examples=10, deadline=None, suppress_health_check=list(HealthCheck), database=None
    )
    def run_with_files(content: bytes) -> None:
        run_with_any_file(place, content)

    end = time.monotonic() + FUZZ_S
    while time.monotonic() < end:
        for _ in range(5):
            check_files(place)
        run_with_files()
