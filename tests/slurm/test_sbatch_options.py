"""The arguments of sbatch are read as sbatch reads them."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpualert_common.errors import SlurmError
from gpualert_common.slurm.submissions.sbatch_options import (
    add_mark,
    find_clusters,
    find_refusal,
    read_options,
)

MARK = "gpualert:20261128-101112-123456-abcd"

PLACES = {
    "train.sh": 0,
    "-p gpu train.sh --comment=of-the-script": 2,
    "-pgpu -N2 train.sh": 2,
    "--partition=gpu train.sh": 1,
    "--partition gpu --exclusive train.sh": 3,
    "-HQp gpu train.sh": 2,
    "--nice --hold -- train.sh -x": 3,
    "--array=0-3 -c 4 train.sh 1 2": 3,
    "-B 2:4:1 train.sh": 2,
    "--kill-on-invalid-dep yes train.sh": 2,
}


@pytest.mark.parametrize("text", PLACES)
def test_script_is_the_first_argument_that_is_no_option(text: str) -> None:
    """Values of options in arguments of their own are not taken for the script."""
    assert read_options(text.split()).script_at == PLACES[text]


def test_script_of_stdin() -> None:
    """Without a script and without --wrap, sbatch reads the script from stdin."""
    assert read_options(["-p", "gpu"]).reads_stdin
    assert not read_options(["--wrap", "true"]).reads_stdin
    assert not read_options(["--wrap=true", "-p", "gpu"]).reads_stdin


def test_mark_stands_in_front_of_the_script() -> None:
    """The mark is an option of sbatch, and no argument of the script."""
    marked = add_mark(["-p", "gpu", "train.sh", "--comment", "x"], MARK)
    own = ["--parsable", f"--comment={MARK}"]
    assert marked == ["-p", "gpu", *own, "train.sh", "--comment", "x"]
    assert add_mark(["--hold", "--", "a.sh"], MARK) == ["--hold", *own, "--", "a.sh"]
    assert add_mark(["--wrap=true"], MARK) == ["--wrap=true", *own]


@pytest.mark.parametrize("given", [["--comment=mine"], ["--comment", "mine"]])
def test_comment_of_the_user_is_kept(given: list[str]) -> None:
    """The mark follows the user's own comment."""
    assert f"--comment=mine {MARK}" in add_mark([*given, "train.sh"], MARK)


def test_comment_of_the_script_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A comment among the directives counts, none behind the first command, and no variable."""
    monkeypatch.setenv("SBATCH_COMMENT", "sbatch does not read this")
    script = tmp_path / "train.sh"
    script.write_text(
        "#!/bin/bash\n#SBATCH -p gpu --comment='my own' # why\n\ntrue\n#SBATCH --comment=late\n"
    )
    assert f"--comment=my own {MARK}" in add_mark([str(script)], MARK)


@pytest.mark.parametrize("content", [b"#SBATCH --comment='open\n", b"\xff\xfe\0", b""])
def test_damaged_script_has_no_comment(tmp_path: Path, content: bytes) -> None:
    """Sbatch reports what is wrong with a script; the mark is added all the same."""
    script = tmp_path / "train.sh"
    script.write_bytes(content)
    assert f"--comment={MARK}" in add_mark([str(script)], MARK)
    assert f"--comment={MARK}" in add_mark([str(tmp_path)], MARK)


@pytest.mark.parametrize("arguments", [["--help"], ["-h"], ["--version"], ["--test-only", "a.sh"]])
def test_calls_without_a_job(arguments: list[str]) -> None:
    """Help, version and tests submit nothing."""
    assert read_options(arguments).submits_nothing
    assert not read_options(["a.sh", *arguments]).submits_nothing


@pytest.mark.parametrize("arguments", [["--wait"], ["-W"], ["-QW", "a.sh"]])
def test_wait(arguments: list[str]) -> None:
    """Both forms of --wait are found."""
    assert read_options(arguments).waits


def test_comment_of_a_script_of_stdin_is_kept(tmp_path: Path) -> None:
    """A script that came from stdin keeps the comment of its directives."""
    script = tmp_path / "script"
    script.write_text("#!/bin/bash\n#SBATCH --comment=mine\ntrue\n")
    assert f"--comment=mine {MARK}" in add_mark(["-p", "gpu"], MARK, str(script))


REFUSALS = {
    "-W train.sh": "--wait: gpualert sbatch waits",
    "-p gpu -N1 : -p cpu train.sh": "heterogeneous",
    "--wrap=true : -p cpu": "heterogeneous",
    "-p gpu train.sh : x": "",
    "waiting.sh": "#SBATCH --wait: gpualert sbatch waits",
    "hetjob.sh": "heterogeneous",
    "packjob.sh": "heterogeneous",
    "late.sh": "",
    "--wrap=true waiting.sh": "",
    "missing.sh": "",
}
SCRIPTS = {
    "waiting.sh": "#!/bin/sh\n#SBATCH -N 2 -W\ntrue\n",
    "hetjob.sh": "#!/bin/sh\n#SBATCH -N 2\n#SBATCH hetjob\n#SBATCH -N 1\ntrue\n",
    "packjob.sh": "#!/bin/sh\n#SBATCH packjob\ntrue\n",
    "late.sh": "#!/bin/sh\ntrue\n#SBATCH --wait\n#SBATCH hetjob\n",
}


@pytest.mark.parametrize("text", REFUSALS)
def test_jobs_that_are_refused(tmp_path: Path, text: str) -> None:
    """A job that sbatch waits for, and one of several components, is refused with the reason."""
    for name, script in SCRIPTS.items():
        (tmp_path / name).write_text(script)
    found = find_refusal(text.split(), None, str(tmp_path))
    assert (REFUSALS[text] in found) if REFUSALS[text] else not found


@pytest.mark.parametrize("name", SCRIPTS)
def test_scripts_of_stdin_that_are_refused(name: str) -> None:
    """The directives of a script from stdin are read, too."""
    assert bool(find_refusal(["-p", "gpu"], SCRIPTS[name].encode(), None)) == (name != "late.sh")


CLUSTERS = {
    "-p gpu train.sh": [""],
    "-M one train.sh": ["one"],
    "-HMone,two train.sh": ["one", "two"],
    "--clusters=one train.sh -M two": ["one"],
    "--wrap=true --clusters one": ["one"],
}


@pytest.mark.parametrize("text", CLUSTERS)
def test_clusters_are_those_of_the_submission(text: str) -> None:
    """A job is looked for on the clusters to which sbatch may have submitted it."""
    assert find_clusters(text.split()) == CLUSTERS[text]


def test_clusters_of_the_environment_and_the_script(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A variable goes before a directive, and a job on any cluster cannot be looked for."""
    script = tmp_path / "train.sh"
    script.write_text("#!/bin/bash\n#SBATCH -M two\ntrue\n")
    assert find_clusters([str(script)]) == ["two"]
    monkeypatch.setenv("SBATCH_CLUSTERS", "one")
    assert find_clusters([str(script)]) == ["one"]
    with pytest.raises(SlurmError, match="cannot be decided"):
        find_clusters(["-M", "all", str(script)])
