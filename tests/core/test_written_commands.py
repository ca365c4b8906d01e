"""The commands in README, in *Start in one minute* and in the sections *Try it* work as written.

Of each page or section the blocks marked ``sh`` and ``python`` are run, in their order, in one
shell of a user who has just copied the tree: an empty home, a Python, and nothing installed.
Other blocks are no commands: ``console`` shows a session, ``diff``, ``toml`` and ``text`` are
contents.  A command fails exactly where its comment says so.  A block of ``make`` is what CI runs.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PAGES = {
    "README.md": re.compile(r".*", re.DOTALL),
    "docs/airflow.md": re.compile(r"^## Try it$.*?(?=^## )", re.MULTILINE | re.DOTALL),
    "docs/start.md": re.compile(r".*", re.DOTALL),
    "docs/prefect.md": re.compile(r"^## Try it$.*?(?=^## )", re.MULTILINE | re.DOTALL),
}
"""The part of each page that is run."""

CALLS = {"sh": '. "$block"', "python": 'python "$block"'}
TRAINING = """
import os, sys
from pathlib import Path
command = [sys.executable, "examples/train_numpy.py"]
if Path("checkpoint.npz").exists() and not Path("endless").exists():
    Path("endless").touch()
    command += ["--epochs", "1000000000"]
os.execv(command[0], command)
"""
"""The training of README's reader; its second run goes on until it is stopped."""

REPORT_FAILED_LINE = """trap 'echo "${block##*/} $LINENO" >>"$FAILED"' ERR"""


@dataclass(frozen=True)
class Block:
    """A fenced block of a page."""

    language: str
    text: str

    @property
    def is_make(self) -> bool:
        """True if all of its commands are targets of make."""
        return all(line.startswith("make ") for line in self.text.splitlines())


def list_blocks(page: str) -> list[Block]:
    """Return the blocks of a page that have commands."""
    part = PAGES[page].search((ROOT / page).read_text())
    assert part is not None
    return [Block(*found) for found in FENCE.findall(part[0]) if found[0] in CALLS]


def copy_tree(to: Path) -> Path:
    """Copy what git has, or would add, of this tree; returns the copy."""
    listing = ("git", "-C", ROOT, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    for name in subprocess.check_output(listing, text=True).split("\0"):
        if (ROOT / name).is_file():
            (to / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, to / name)
    return to


def make_user(home: Path) -> dict[str, str]:
    """Return the environment of a user whose home has only the choice of a state directory."""
    programs = home / "bin"
    programs.mkdir(parents=True)
    (programs / "python3").symlink_to(Path(sys.executable).resolve())
    settings = home / ".config" / "gpualert" / "config.toml"
    settings.parent.mkdir(parents=True)
    settings.write_text(f'state_dir = "{home / "state"}"\n')
    network = {name: text for name, text in os.environ.items() if name.startswith(("PIP_", "SSL_"))}
    # Prefect's default of 20 s for the start of its server is short for a busy machine.
    patience = {"PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS": "300"}
    return network | patience | {"HOME": str(home), "PATH": f"{programs}:/usr/bin:/bin"}


def test_blocks_of_make_are_run_by_ci() -> None:
    """CI runs each target that a block of README calls."""
    (targets,) = re.findall(r"^for target in (.*); do$", (ROOT / ".ci/run").read_text(), re.M)
    blocks = [block for block in list_blocks("README.md") if block.is_make]
    called = {line.split()[1] for block in blocks for line in block.text.splitlines()}
    assert called
    assert called <= set(targets.split())


@pytest.mark.e2e
@pytest.mark.parametrize("page", PAGES)
def test_commands_work_as_written(page: str, tmp_path: Path) -> None:
    """Each command of a page succeeds in a fresh environment, or fails where the page says so."""
    environment = make_user(tmp_path / "home")
    checkout = copy_tree(tmp_path / "gpualert")
    # The pages speak of a training and a log that their reader has.
    (checkout / "train.py").write_text(TRAINING)
    (checkout / "old.log").write_text("ModuleNotFoundError: No module named 'apex'\n")
    script = [REPORT_FAILED_LINE]
    expected = []
    for number, block in enumerate(list_blocks(page)):
        if not block.is_make:
            path = tmp_path / f"block-{number}"
            path.write_text(block.text)
            script.append(f"block='{path}'; {CALLS[block.language]}")
            lines = enumerate(block.text.splitlines(), start=1)
            expected += [f"{path.name} {line}" for line, text in lines if "# fails" in text]
    failed = tmp_path / "failed"
    failed.touch()
    done = subprocess.run(
        ["/bin/bash", "-c", "\n".join(script)],
        cwd=checkout,
        env=environment | {"FAILED": str(failed)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    print(done.stdout)
    assert failed.read_text().splitlines() == expected
