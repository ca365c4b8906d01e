"""Logs of any form: compressed, in another encoding, cut, binary, rotated, in folders."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import os
import subprocess
import sys
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

from gpualert_common.log_files import log_paths
from gpualert_common.log_files.log_paths import find_logs
from gpualert_common.log_files.text_log import TextLog

LINE = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n"
LOG = "step 1 loss 0.3\n" * 3000 + LINE
PLAIN = LOG.encode()

FORMS = {
    "gzip": gzip.compress(PLAIN),
    "gzip of two members": gzip.compress(PLAIN[:1000]) + gzip.compress(PLAIN[1000:]),
    "gzip with padding": gzip.compress(PLAIN) + bytes(5000),
    "bzip2": bz2.compress(PLAIN),
    "bzip2 of two streams": bz2.compress(PLAIN[:1000]) + bz2.compress(PLAIN[1000:]),
    "xz": lzma.compress(PLAIN),
    "xz of two streams": lzma.compress(PLAIN[:1000]) + lzma.compress(PLAIN[1000:]),
    "zstandard": zstd.compress(PLAIN),
    "zstandard of two frames": zstd.compress(PLAIN[:1000]) + zstd.compress(PLAIN[1000:]),
    "utf-16 with mark": LOG.encode("utf-16"),
    "utf-16-le": LOG.encode("utf-16-le"),
    "utf-16-be": LOG.encode("utf-16-be"),
    "utf-32 with mark": LOG.encode("utf-32"),
    "utf-8 with mark": LOG.encode("utf-8-sig"),
    "gzip of utf-16": gzip.compress(LOG.encode("utf-16")),
}
_CHECKED: dict[int, int] = {zstd.CompressionParameter.checksum_flag: 1}
PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "bzip2": bz2.compress,
    "xz": lzma.compress,
    "zstandard": lambda data: zstd.compress(data, options=_CHECKED),
}
BINARY = {
    "program": Path(sys.executable).read_bytes()[:100_000],
    "pickle": b"\x80\x04\x95" + bytes(range(256)) * 20,
    "zip": b"PK\x03\x04" + PLAIN,
    "sqlite": b"SQLite format 3\0" + bytes(4000),
    "parquet": b"PAR1" + PLAIN,
    "tfevents": b"\x18\0\0\0\0\0\0\0\xa3\x7f\x4b\x22\x09\0\0\x80\xf8\x9c\xd9A\x1a\rbrain.Event:2",
    "random": bytes((number * 73 + number // 256 * 31) % 256 for number in range(50_000)),
    "integers": b"".join(number.to_bytes(4, "little") for number in range(1000)),
    "archive in an archive": gzip.compress(gzip.compress(PLAIN)),
}


def classify(*arguments: str | Path) -> dict[str, Any]:
    """Return the verdict that the command prints, for a run that exited with 1."""
    command = [sys.executable, "-m", "gpualert_common", "classify", "--json", "--exit-code", "1"]
    done = subprocess.run([*command, *arguments], capture_output=True, check=True, timeout=100)
    return dict(json.loads(done.stdout))


def kinds(verdict: dict[str, Any]) -> list[str]:
    """Return the kinds of its warnings."""
    return [warning["kind"] for warning in verdict["warnings"]]


def read(data: bytes) -> tuple[bytes, list[str]]:
    """Return the text of *data* and the kinds of its problems."""
    log = TextLog(io.BytesIO(data))
    return b"".join(log), [kind for kind, _ in log.problems]


@pytest.mark.parametrize("data", FORMS.values(), ids=FORMS)
def test_every_form_has_the_same_text(data: bytes) -> None:
    """A compressed log, or one in another encoding, is read as the text that it holds."""
    assert read(data) == (PLAIN, ["decoded"])


@pytest.mark.parametrize("data", FORMS.values(), ids=FORMS)
def test_a_pipe_that_delivers_little(data: bytes) -> None:
    """The form is recognized also where a stream delivers a few bytes at a time."""

    class Pipe(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            return super().read(min(7, size or 7))

    assert b"".join(TextLog(Pipe(data[:20_000])))[:1000] == PLAIN[:1000]


@pytest.mark.parametrize("name", PACKERS)
def test_a_cut_archive_is_used_as_far_as_it_goes(name: str) -> None:
    """Of a truncated archive the text in front counts, and the verdict says that it is cut."""
    noise = "".join(f"step {number} loss {number**7 % 9973}\n" for number in range(200_000))
    packed = PACKERS[name]
    text, problems = read(packed(noise.encode())[:-1000])
    assert len(text) > 100_000
    assert noise.encode().startswith(text)
    assert problems == ["log_cut", "decoded"]


@pytest.mark.parametrize("hole", [b"\0" * 4096, b"\0" * 4096 + b"step 2 loss 0.2\n"])
def test_a_hole_hides_nothing(hole: bytes, tmp_path: Path) -> None:
    """A log counts whose last blocks a crash lost, or that was truncated while it was written."""
    (tmp_path / "a.log").write_bytes(b"step 1 loss 0.3\n" * 50 + LINE.encode() + hole)
    verdict = classify(tmp_path / "a.log")
    assert (verdict["cause"], kinds(verdict)) == ("cuda_oom", [])


@pytest.mark.parametrize("at", [0, 40, 400, 4000])
@pytest.mark.parametrize("name", PACKERS)
def test_a_damaged_archive_never_raises(name: str, at: int) -> None:
    """Wrong bytes anywhere behind the first ones end the reading, with a warning."""
    packed = PACKERS[name]
    data = packed(os.urandom(6000).hex().encode())
    _, problems = read(data[: at + 8] + b"\xff" * 50 + data[at + 58 :])
    assert {"log_cut", "not_read"} & {*problems}


@pytest.mark.parametrize("data", BINARY.values(), ids=BINARY)
def test_a_binary_file_is_no_log(data: bytes, tmp_path: Path) -> None:
    """A file that is no text is not judged, and the verdict says so."""
    (tmp_path / "file").write_bytes(data)
    verdict = classify(tmp_path / "file")
    assert kinds(verdict) == ["not_text"]
    assert verdict["confidence"] <= 0.3


@pytest.mark.parametrize(
    "data",
    [
        *(b"", b"\n", b"a", PLAIN, b"\0" * 100_000 + PLAIN, b"\x1b[31m" * 99),
        *(PLAIN + b"\0" * 4096, PLAIN[:1000] + b"\0" * 9000 + PLAIN, b"a\0b\n" * 99),
        *(b"\xf6\xe4\n" * 500, b"\b\b\b\b 12%|#\r" * 999, "损失\n".encode("gb18030") * 99),
    ],
)
def test_any_text_is_left_as_it_is(data: bytes) -> None:
    """Unusual bytes of a text log change nothing."""
    assert read(data) == (data, [])


def test_a_bomb_is_bounded() -> None:
    """A small archive of very much text is read up to a limit, in flat memory."""
    packer = gzip.GzipFile(fileobj=(packed := io.BytesIO()), mode="wb")
    for _ in range(200):
        packer.write(b"step 1 loss 0.3\n" * 65536)
    packer.close()
    log = TextLog(io.BytesIO(packed.getvalue()), most_bytes=100 << 20)
    tracemalloc.start()
    size = sum(map(len, log))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert size == 100 << 20
    assert peak < 8 << 20
    assert [kind for kind, _ in log.problems] == ["log_cut", "decoded"]


def test_a_compressed_log_gives_the_verdict_of_its_text(tmp_path: Path) -> None:
    """Lines and offsets of the verdict are those of the text."""
    (tmp_path / "a.log").write_bytes(PLAIN)
    (tmp_path / "b").write_bytes(FORMS["gzip of utf-16"])
    plain, packed = classify(tmp_path / "a.log"), classify(tmp_path / "b")
    assert (plain["cause"], plain["confidence"]) == ("cuda_oom", packed["confidence"])
    assert [claim.get("where", {}).get("offset") for claim in plain["shows"]] == [
        claim.get("where", {}).get("offset") for claim in packed["shows"]
    ]
    assert kinds(packed) == ["decoded"]


def test_a_zstandard_log_without_a_decoder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the extra the log is not judged, and the verdict says what to install."""
    (tmp_path / "a.log.zst").write_bytes(zstd.compress(PLAIN))
    for name in ("compression", "backports"):  # an empty package hides the decoder
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").touch()
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), *sys.path]))
    verdict = classify(tmp_path / "a.log.zst")
    assert kinds(verdict) == ["not_read"]
    assert "gpualert-common[zstd]" in verdict["warnings"][0]["text"]
    assert verdict["cause"] != "cuda_oom"


def test_a_folder_is_one_run(tmp_path: Path) -> None:
    """The logs of all ranks count; links, pipes and binaries are left out and named."""
    for rank in (0, 2, 10):
        (tmp_path / f"rank_{rank}").mkdir()
        (tmp_path / f"rank_{rank}" / "stdout.log").write_text("step 1\n")
    (tmp_path / "rank_2" / "stderr.log").write_text(LINE)
    (tmp_path / "weights.bin").write_bytes(BINARY["pickle"])
    (tmp_path / "link.log").symlink_to("/etc/hostname")
    (tmp_path / "up").symlink_to("/")
    os.mkfifo(tmp_path / "pipe")
    verdict = classify(tmp_path)
    assert verdict["cause"] == "cuda_oom"
    assert sorted(kinds(verdict)) == ["left_out", "left_out", "not_text"]
    read_files = [source["file"] for source in verdict["sources"] if "file" in source]
    assert [Path(file).parent.name for file in read_files] == ["rank_0", *["rank_2"] * 2, "rank_10"]


def test_a_quoted_pattern(tmp_path: Path) -> None:
    """A pattern of names is expanded, in the order of the numbers."""
    for task in (4, 40, 5):
        (tmp_path / f"slurm-123_{task}.out").write_text("step 1\n")
    found = find_logs(str(tmp_path / "slurm-*.out")).logs
    assert [Path(path).name for (path,) in found] == [
        f"slurm-123_{task}.out" for task in (4, 5, 40)
    ]


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        ("**/*.out", ["0.out", "a/1.out", "a/b/2.out"]),
        ("a/**/*.out", ["a/1.out", "a/b/2.out"]),
        ("**", ["0.out", "5\N{SUPERSCRIPT TWO}3.log", "a/1.out", "a/b/2.out"]),
        ("*/b/?.out", ["a/b/2.out"]),
        ("[ab]", ["a/1.out", "a/b/2.out"]),
        ("*.log", ["5\N{SUPERSCRIPT TWO}3.log"]),
    ],
)
def test_a_pattern_follows_no_links(pattern: str, names: list[str], tmp_path: Path) -> None:
    """Each file is found once, also where links make circles."""
    for name in ("0.out", "a/1.out", "a/b/2.out", "5\N{SUPERSCRIPT TWO}3.log"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("step 1\n")
    for link in ("x", "y"):
        (tmp_path / link).symlink_to(".")
    found = find_logs(f"{tmp_path}/{pattern}").logs
    assert sorted(os.path.relpath(path, tmp_path) for (path,) in found) == names


def test_entries_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Folders are listed up to a limit, and the rest is named; empty folders count."""
    monkeypatch.setattr(log_paths, "_MOST_ENTRIES", 3)
    for name in "abcdef":
        (tmp_path / name).mkdir()
    for argument in (tmp_path, f"{tmp_path}/**/*.out"):
        (left_out,) = find_logs(str(argument)).left_out
        assert "more than 3 entries" in left_out


def test_rotated_logs_are_read_from_the_oldest(tmp_path: Path) -> None:
    """The parts of a rotated log are one log: its end is that of the newest part."""
    (tmp_path / "train.log.2.gz").write_bytes(gzip.compress(LINE.encode()))
    steps = "".join(f"step {number} loss 0.3\n" for number in range(2000))
    (tmp_path / "train.log.1").write_text(steps)
    (tmp_path / "train.log").write_text("ZeroDivisionError: division by zero\n")
    (tmp_path / "train.log.10.gz").write_bytes(gzip.compress(b"begin\n"))
    (parts,) = find_logs(str(tmp_path)).logs
    assert [Path(part).name[9:] for part in parts] == [".10.gz", ".2.gz", ".1", ""]
    verdict = classify(tmp_path)
    assert verdict["cause"] == "div_zero"
    assert sorted(kinds(verdict)) == ["decoded", "joined"]
    assert verdict["shows"][1]["where"]["line"] == 2003


def test_a_large_folder_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files beyond a limit are left out, and named."""
    monkeypatch.setattr(log_paths, "MOST_FILES", 3)
    monkeypatch.setattr(log_paths, "MOST_BYTES", 10)
    monkeypatch.setattr(log_paths, "MOST_DEPTH", 2)
    for name in ("a/b/deep.log", "1.log", "2.log", "3.log", "4.log", "0.log"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x" * (20 if name == "0.log" else 1))
    found = find_logs(str(tmp_path))
    assert [Path(path).name for (path,) in found.logs] == ["1.log", "2.log", "3.log"]
    assert len(found.left_out) == 3


@pytest.mark.parametrize("argument", ["empty", "empty/*.log", "no-such.log"])
def test_no_log_is_an_error(argument: str, tmp_path: Path) -> None:
    """An argument without a log is refused."""
    (tmp_path / "empty").mkdir()
    path = str(tmp_path / argument)
    command = [sys.executable, "-m", "gpualert_common", "classify", path]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert argument in done.stderr
