"""`gpualert analyze`: the ranks of files, its output, and its errors."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
from pathlib import Path

from tests.supervised import PROGRAM
from tests.traces.test_slow_ranks import Work, compose


def write_traces(folder: Path) -> list[str]:
    """Write traces of two ranks that only their names tell apart; rank 1 is slow."""
    traces = compose(lambda rank, _: Work(compute_us=12_000) if rank == 1 else Work(), ranks=2)
    for one in traces:
        del one.head["distributedInfo"]
    return [str(one.write(folder / f"rank-{one.rank}.json.gz")) for one in reversed(traces)]


def analyze(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Return the end of the command with these arguments."""
    command = (*PROGRAM, "analyze", *arguments)
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def test_ranks_by_the_names_of_their_files(tmp_path: Path) -> None:
    """A trace on demand does not name its rank."""
    done = analyze(*write_traces(tmp_path))
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("Rank 1 is slower by computing: the others wait 4.0 ms of each")


def test_json_has_numbers_and_finding(tmp_path: Path) -> None:
    """A trace that is left out is named, and the status is 1."""
    done = analyze("--json", *write_traces(tmp_path), str(tmp_path / "rank-2.json"))
    assert done.returncode == 1
    found = json.loads(done.stdout)
    assert [one["rank"] for one in found["ranks"]] == ["rank:0", "rank:1"]
    assert found["left_out"][0]["rank"] == "rank:2"
    assert found["comparison"]["delay"]["kind"] == "compute"
    assert found["finding"]["headline"].startswith("rank 1 is slower by computing")


def test_without_a_readable_trace_each_file_has_its_reason(tmp_path: Path) -> None:
    """The status is that of a wrong request."""
    other = tmp_path / "notes.txt"
    other.write_text("no trace")
    done = analyze(str(other), str(tmp_path / "missing.json"))
    assert done.returncode == 2
    assert "notes.txt is no trace of PyTorch's profiler" in done.stderr
    assert "missing.json cannot be read: No such file" in done.stderr


def test_a_merged_trace_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    """The message names the place; the analysis is printed all the same."""
    done = analyze("--merge", str(tmp_path / "none" / "all.json.gz"), *write_traces(tmp_path))
    assert done.returncode == 2
    assert "none/all.json.gz: No such file or directory" in done.stderr
    assert done.stdout.startswith("Rank 1 is slower by computing")


def test_no_trace_is_replaced_by_the_merged_one(tmp_path: Path) -> None:
    """Not by its own name, nor by another one, nor through a link."""
    traces = write_traces(tmp_path)
    content = Path(traces[0]).read_bytes()
    hard, link, pipe = (tmp_path / name for name in ("hard", "link", "pipe"))
    hard.hardlink_to(traces[0])
    link.symlink_to(tmp_path / "elsewhere")
    os.mkfifo(pipe)
    for output, reason in (
        (traces[0], "it is one of the traces"),
        (str(hard), "it is one of the traces"),
        (str(link), "it is a link"),
        (str(pipe), "it is no regular file"),
    ):
        done = analyze("--merge", output, *traces)
        assert (done.returncode, done.stdout) == (2, "")
        assert reason in done.stderr
    assert Path(traces[0]).read_bytes() == content
    assert not (tmp_path / "elsewhere").exists()


def test_a_rank_that_is_not_in_the_merged_trace_is_named(tmp_path: Path) -> None:
    """It is analysed all the same; the status is 1."""
    traces = write_traces(tmp_path)
    late = Path(traces[0])
    text = gzip.decompress(late.read_bytes()).decode()
    base = json.loads(text)["baseTimeNanoseconds"]
    late.write_bytes(gzip.compress(text.replace(str(base), str(base + 10**13)).encode()))
    done = analyze("--merge", str(tmp_path / "all.json.gz"), *traces)
    assert done.returncode == 1
    assert "rank 1 is left out: " in done.stderr
    assert "10000 s apart" in done.stderr
    assert done.stdout.startswith("Rank 1 is slower")


def test_the_slow_rank_is_in_the_table(tmp_path: Path) -> None:
    """Of many ranks the table has the first ones only, and this one."""
    traces = compose(lambda rank, _: Work(compute_us=12_000) if rank == 19 else Work(), ranks=20)
    done = analyze(*(str(one.write(tmp_path / f"rank-{one.rank}.json")) for one in traces))
    rows = [line for line in done.stdout.splitlines() if line.startswith("rank ")]
    assert len([line for line in rows if line.startswith("rank 19 ")]) == 1
    assert "and 4 more ranks" in done.stdout
