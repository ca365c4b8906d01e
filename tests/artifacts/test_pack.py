"""Each file is attached within the budget and masked, or its row has the reason."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import zlib
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gpualert_common import artifacts
from gpualert_common.artifacts import masking, packer, truncation
from gpualert_common.artifacts.changes import FileCandidate
from gpualert_common.artifacts.file_names import clean_path, make_attachment_name
from gpualert_common.model import Artifact, Bundle, Fate
from gpualert_common.redact import Redactor
from tests.artifacts.workplace import TOKEN, Workplace, candidate
from tests.supervised import until

GIB = 1 << 30


def only(bundle: Bundle) -> Artifact:
    """Return the only row."""
    (row,) = bundle.artifacts
    return row


def noise(size: int) -> bytes:
    """Return text that hardly compresses."""
    return os.urandom(size).hex().encode()[:size]


# -- fates -------------------------------------------------------------------------------------


def test_text_is_attached(place: Workplace) -> None:
    """A text that fits is attached unchanged, with the digest of the file."""
    file = place.write("metrics.json", '{"loss": 0.1}')
    bundle = place.packed(file)
    (attached,) = bundle.attachments
    assert (attached.name, attached.content) == ("metrics.json", b'{"loss": 0.1}')
    assert attached.media_type == "application/json"
    digest = hashlib.sha256(attached.content).hexdigest()
    assert only(bundle) == Artifact(str(file), "metrics.json", 13, Fate.ATTACHED, "", digest, 13, 0)


def test_text_is_masked(place: Workplace) -> None:
    """A secret in a text is masked and counted; the digest is that of the file on the disk."""
    file = place.write("config.yaml", f"hub: {TOKEN}\n")
    bundle = place.packed(file)
    assert TOKEN.encode() not in bundle.attachments[0].content
    assert b"[redacted " in bundle.attachments[0].content
    row = only(bundle)
    assert (row.fate, row.redactions) == (Fate.ATTACHED, 1)
    assert row.sha256 == hashlib.sha256(file.read_bytes()).hexdigest()


def test_large_text_is_compressed(place: Workplace) -> None:
    """A text that does not fit is compressed, the same way each time."""
    file = place.write("log.csv", b"epoch,loss\n" * 10_000)
    bundle = place.packed(file, file_bytes=10_000)
    (attached,) = bundle.attachments
    assert (attached.name, attached.media_type) == ("log.csv.gz", "application/gzip")
    assert gzip.decompress(attached.content) == file.read_bytes()
    assert attached.content[4:8] == bytes(4)  # no time in it
    assert only(bundle).fate is Fate.COMPRESSED


def test_incompressible_text_is_cut(place: Workplace) -> None:
    """A text that is too long even when compressed keeps whole lines of head and tail."""
    lines = [b"%06d " % number + noise(40) for number in range(2000)]
    file = place.write("log.csv", b"\n".join(lines) + b"\n")
    bundle = place.packed(file, file_bytes=10_000)
    kept = bundle.attachments[0].content.split(b"\n")
    (mark,) = (line for line in kept if line.startswith(b"[... "))
    at = kept.index(mark)
    assert kept[:at] == lines[:at]
    assert kept[at + 1 : -1] == lines[-(len(kept) - at - 2) :]
    head, tail = sum(map(len, kept[:at])) + at, sum(map(len, kept[at + 1 :])) + len(kept) - at - 2
    assert mark == b"[... %d bytes left out ...]" % (file.stat().st_size - head - tail)
    assert 9_000 < len(bundle.attachments[0].content) <= 10_000
    assert only(bundle).fate is Fate.TRUNCATED


def test_twenty_gigabytes(place: Workplace) -> None:
    """Only both ends of a very long file are read."""
    file = place.write("huge.log", b"first\n" + b"a line\n" * 10_000)
    with file.open("r+b") as opened:
        opened.truncate(20 * GIB)
        opened.seek(20 * GIB)
        opened.write(b"\n" * 20_000 + b"the last line\n")
    before = _read_bytes()
    bundle = place.packed(file)
    assert _read_bytes() - before < 4 << 20
    content = bundle.attachments[0].content
    assert content.startswith(b"first\n")
    assert content.endswith(b"the last line\n")
    assert (only(bundle).fate, only(bundle).sha256) == (Fate.TRUNCATED, None)


def _read_bytes() -> int:
    """Return the number of bytes that this process has read."""
    fields = Path("/proc/self/io").read_text().split()
    return int(fields[fields.index("rchar:") + 1])


def test_image_goes_whole_or_not_at_all(place: Workplace) -> None:
    """An image is never cut."""
    file = place.write("loss.png", b"\x89PNG\r\n\0" + os.urandom(5000))
    whole = place.packed(file)
    assert (only(whole).fate, whole.attachments[0].media_type) == (Fate.ATTACHED, "image/png")
    left = place.packed(file, file_bytes=5000)
    assert (only(left).fate, left.attachments) == (Fate.LEFT_IN_PLACE, ())
    assert "larger than the 5,000 bytes" in only(left).why


def test_image_with_a_secret_is_not_sent(place: Workplace) -> None:
    """A binary file that holds a secret is not sent: it cannot be masked."""
    file = place.write("plot.png", b"\x89PNG\0 token=" + TOKEN.encode() + b" \0")
    row = only(place.packed(file))
    assert (row.fate, row.why) == (Fate.LEFT_IN_PLACE, "it contains what looks like a secret")
    assert (row.redactions, row.sent_bytes) == (0, 0)


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("model.safetensors", "a checkpoint"),
        ("events.out.tfevents.17.host", "a TensorBoard log"),
        ("core.4711", "a core dump"),
        ("rank0.pt.trace.json", "a trace"),
    ],
)
def test_named_never_sent(place: Workplace, name: str, why: str) -> None:
    """Checkpoints, traces and dumps are listed and never sent, even on request."""
    place.write(name)
    row = place.rows(name)[name]
    assert row.fate is Fate.LEFT_IN_PLACE
    assert row.why.startswith(why)


def test_archive_that_was_asked_for(place: Workplace) -> None:
    """An archive is sent on request; the manifest says that it was not searched."""
    place.write("all.zip", b"PK\3\4\0\0")
    row = place.rows("all.zip")["all.zip"]
    assert (row.fate, row.why) == (Fate.ATTACHED, "an archive; not searched for secrets")


def test_text_by_its_name_that_is_none(place: Workplace) -> None:
    """A file with NUL bytes is not a text, with any name, and is not cut."""
    file = place.write("data.txt", b"a hole\n\0\0\0" * 500)
    assert only(place.packed(file, file_bytes=4000)).fate is Fate.LEFT_IN_PLACE


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_utf16_text_is_not_sent(place: Workplace, encoding: str) -> None:
    """A text in UTF-16 is not sent: secrets in it cannot be found."""
    row = only(place.packed(place.write("report.txt", f"token: {TOKEN}\n".encode(encoding))))
    assert (row.fate, row.why[:6]) == (Fate.LEFT_IN_PLACE, "UTF-16")


def test_unknown_name(place: Workplace) -> None:
    """A file with an unknown name is a text when it has no NUL bytes."""
    file = place.write("Makefile", f"TOKEN={TOKEN}\n")
    bundle = place.packed(file)
    assert bundle.attachments[0].media_type == "text/plain"
    assert TOKEN.encode() not in bundle.attachments[0].content


def test_empty_file(place: Workplace) -> None:
    """An empty file is not attached."""
    row = only(place.packed(place.write("empty.json", "")))
    assert (row.fate, row.size_bytes, row.why) == (Fate.LEFT_IN_PLACE, 0, "it is empty")


def test_hard_links(place: Workplace) -> None:
    """A file with two names is sent once; the row of the other name says so."""
    file = place.write("a.json")
    os.link(file, place.cwd / "b.json")
    rows = place.packed(file, place.cwd / "b.json").artifacts
    assert [row.fate for row in rows] == [Fate.ATTACHED, Fate.LEFT_IN_PLACE]
    assert rows[1].why == "the same file as a.json"


# -- what happens in between -------------------------------------------------------------------


def test_vanished(place: Workplace) -> None:
    """A file that is removed after the search has a row."""
    row = only(place.packed(place.cwd / "gone.json"))
    assert row.fate is Fate.VANISHED
    assert row.why


@pytest.mark.parametrize("swap", ["link", "folder", "pipe", "folder of it"])
def test_path_replaced_after_the_search(place: Workplace, swap: str) -> None:
    """A path that is replaced after the search is not read."""
    file = place.write("a/results.json")
    (place.home / "secret").mkdir()
    (place.home / "secret" / "results.json").write_text("secret")
    one = candidate(file)
    file.unlink()
    match swap:
        case "link":
            file.symlink_to(place.home / "secret" / "results.json")
        case "folder":
            file.mkdir()
        case "pipe":
            os.mkfifo(file)
        case _:
            file.parent.rmdir()
            file.parent.symlink_to(place.home / "secret")
    limits = {"files_bytes": 1000, "file_bytes": 1000, "files": 5}
    bundle = packer.pack([one], **limits, redactor=Redactor(), deadline_s=60.0)
    assert (only(bundle).fate, bundle.attachments) == (Fate.UNREADABLE, ())


GROW = """
import sys, time
with open(sys.argv[1], "ab", buffering=0) as file:
    while True:
        file.write(b"x")
        time.sleep(0.0002)
"""


def test_growing_file(place: Workplace) -> None:
    """A file that grows while it is read is cut at its first size; its row says so."""
    file = place.write("run.log", b"a line\n" * (1 << 20))

    def met() -> Bundle | None:
        bundle = place.packed(file)
        return None if only(bundle).sha256 else bundle

    writer = subprocess.Popen([sys.executable, "-c", GROW, file])
    try:
        bundle = until(met, "a file to be written to while it is read")
    finally:
        writer.kill()
        writer.wait()
    row = only(bundle)
    assert row.fate is Fate.COMPRESSED
    assert "it changed while it was read" in row.why
    assert len(gzip.decompress(bundle.attachments[0].content)) == row.size_bytes


CHURN = """
import os, sys
os.chdir(sys.argv[1])
print("ready", flush=True)
number = 0
while True:
    number += 1
    name = f"{number % 7}.json"
    with open(".new", "w") as file:
        file.write("x" * (number % 5000))
    os.rename(".new", name)
    if number % 3 == 0:
        os.unlink(name)
    if number % 5 == 0:
        os.symlink("/etc/hostname", ".link")
        os.rename(".link", name)
"""


def test_files_that_come_and_go(place: Workplace) -> None:
    """Every bundle is valid while another process creates, removes and swaps files."""
    writer = subprocess.Popen([sys.executable, "-c", CHURN, place.cwd], stdout=subprocess.PIPE)
    assert writer.stdout is not None
    try:
        assert writer.stdout.readline() == b"ready\n"
        for _ in range(100):
            bundle = place.bundle("*.json", files_bytes=8000, file_bytes=3000, files=4)
            check(bundle, files_bytes=8000, file_bytes=3000, files=4)
            assert all(set(file.content) <= set(b"x") for file in bundle.attachments if
                       not file.name.endswith(".gz"))  # fmt: skip
    finally:
        writer.kill()
        writer.wait()
        writer.stdout.close()


# -- the budget --------------------------------------------------------------------------------


def check(bundle: Bundle, *, files_bytes: int, file_bytes: int, files: int) -> None:
    """Check the invariants of every bundle."""
    sizes = [len(file.content) for file in bundle.attachments]
    assert sum(sizes) <= files_bytes
    assert all(size <= file_bytes for size in sizes)
    assert len(sizes) <= files
    assert len({file.name.casefold() for file in bundle.attachments}) == len(sizes)
    sent = [row for row in bundle.artifacts if row.sent_bytes]
    assert sorted(row.sent_bytes for row in sent) == sorted(sizes)
    paths = [row.path for row in bundle.artifacts]
    assert len(set(paths)) == len(paths)
    for row in bundle.artifacts:
        assert (row.fate in (Fate.ATTACHED, Fate.COMPRESSED, Fate.TRUNCATED)) == (row in sent)
        assert row.why or row.fate is Fate.ATTACHED


FILES = st.lists(
    st.tuples(
        st.sampled_from(
            ["noise", "binary", "text", "secret", "noise", "gone", "folder", "pipe", "link"]
        ),
        st.one_of(st.integers(0, 60_000), st.integers(0, 3000)),
        st.sampled_from([".json", ".csv", ".png", ".dat", ".zip", ".pt", ""]),
        st.booleans(),
        st.booleans(),
    ),
    max_size=14,
)


@settings(max_examples=200, deadline=None)
@given(FILES, st.integers(0, 100_000), st.integers(0, 60_000), st.integers(0, 10), st.booleans())
def test_budget_holds(
    files: list[tuple[str, int, str, bool, bool]],
    files_bytes: int,
    file_bytes: int,
    most: int,
    has_time: bool,
) -> None:
    """For any files and budget: the limits hold, each file has one row, each row has a reason, and
    no secret is sent."""
    with tempfile.TemporaryDirectory() as folder:
        candidates = []
        for number, (what, size, ending, asked, changed) in enumerate(files):
            path = Path(folder, f"{number % 3}-{number}{ending}")
            make(path, what, size)
            candidates.append(FileCandidate(str(path), path.name, asked, changed, size))
        limits = {"files_bytes": files_bytes, "file_bytes": file_bytes, "files": most}
        deadline_s = 60.0 if has_time else 0.0
        bundle = packer.pack(candidates, **limits, redactor=Redactor(), deadline_s=deadline_s)
        check(bundle, **limits)
        assert sorted(row.path for row in bundle.artifacts) == sorted(
            one.path for one in candidates
        )
        for file in bundle.attachments:
            content = file.content
            if file.name.endswith(".gz"):
                content = gzip.decompress(content)
            assert file.name.endswith(".zip") or TOKEN[:12].encode() not in content
        for row in bundle.artifacts:
            if row.sha256 is not None:
                assert row.sha256 == hashlib.sha256(Path(row.path).read_bytes()).hexdigest()


def make(path: Path, what: str, size: int) -> None:
    """Create a path of some sort: a file, a folder, a pipe, a link, or nothing."""
    match what:
        case "text":
            path.write_bytes((b"epoch 1 loss 0.5\n" * (size // 17 + 1))[:size])
        case "noise":
            path.write_bytes(noise(size))
        case "binary":
            path.write_bytes(b"\0" + zlib.compress(os.urandom(size)))
        case "secret":
            path.write_bytes(noise(size) + b" " + TOKEN.encode() + b" " + noise(size))
        case "folder":
            path.mkdir()
        case "pipe":
            os.mkfifo(path)
        case "link":
            path.symlink_to("/etc/hostname")
        case _:
            pass  # nothing is there


def test_budget_is_shared(place: Workplace) -> None:
    """Each attached file reduces the budget for the next."""
    files = [place.write(f"{number}.png", os.urandom(400)) for number in range(3)]
    bundle = place.packed(*files, files_bytes=1000)
    fates = [row.fate for row in bundle.artifacts]
    assert fates == [Fate.ATTACHED, Fate.ATTACHED, Fate.LEFT_IN_PLACE]
    assert "larger than the 200 bytes that were left" in bundle.artifacts[-1].why


def test_small_ones_first(place: Workplace) -> None:
    """Requested files go first, then small files, so that many fit."""
    for number in range(10):
        place.write(f"{number}.json", "x" * (100 + number * 100))
    place.write("wanted.json", "x" * 900)
    bundle = place.bundle("wanted.json", files_bytes=1600, files=9)
    names = [file.name for file in bundle.attachments]
    assert names[:4] == ["wanted.json", "0.json", "1.json", "2.json"]


def test_no_files_are_taken(place: Workplace) -> None:
    """For a channel that accepts no files, every row says so and no file is opened."""
    place.write("a.json")
    bundle = place.bundle(files=0)
    assert only(bundle).why == "the message takes no more than 0 files"


def test_no_time_to_read(place: Workplace) -> None:
    """Files that are left at the deadline stay in place, and their rows say why."""
    files = [place.write(f"{number}.json") for number in range(3)]
    limits = {"files_bytes": 1000, "file_bytes": 1000, "files": 5}
    bundle = packer.pack(map(candidate, files), **limits, redactor=Redactor(), deadline_s=0.0)
    assert {(row.fate, row.why) for row in bundle.artifacts} == {
        (Fate.LEFT_IN_PLACE, "no time was left to read it")
    }


def test_bundle_writes_nothing(place: Workplace) -> None:
    """Bundling changes neither the record nor the working directory."""
    place.write("a.json")
    before = sorted(map(str, place.home.rglob("*")))
    place.bundle()
    assert sorted(map(str, place.home.rglob("*"))) == before


def test_manifest(place: Workplace) -> None:
    """The manifest is valid JSON with every row, for any names."""
    place.write("a.json")
    Path(os.fsdecode(os.fsencode(place.cwd) + b"/caf\xe9.json")).write_text("{}")
    bundle = place.bundle("nothing.json")
    manifest = json.loads(
        json.dumps(artifacts.encode_manifest(bundle), ensure_ascii=False).encode()
    )
    assert manifest["schema"] == 1
    fates = {row["name"]: row["fate"] for row in manifest["artifacts"]}
    assert fates == {"nothing.json": "vanished", "a.json": "attached", "caf\\xe9.json": "attached"}
    assert [file["name"] for file in manifest["attachments"]] == ["caf_xe9.json", "a.json"]


def test_secrets_in_names(place: Workplace) -> None:
    """A secret in a file name is masked in the manifest and in the attachment name."""
    bundle = place.packed(place.write(f"{TOKEN}.json"))
    assert TOKEN not in only(bundle).name
    assert TOKEN not in bundle.attachments[0].name


# -- names of attachments ----------------------------------------------------------------------

NAMES = {
    "a/b/metrics.json": "metrics.json",
    "..": "file",
    "a/.hidden.json": "hidden.json",
    'we"ird<>|?*:\\.json': "we_ird_______.json",
    "a\r\nContent-Type: x.json": "a_x0d_x0aContent-Type_ x.json",
    "\u202egnp.exe": "_u202egnp.exe",
    "x" * 300 + ".json": "x" * 95 + ".json",
    "é" * 200 + ".tar.gz": "é" * 46 + ".tar.gz",
    "x." + "y" * 300: "x." + "y" * 49,
}


@pytest.mark.parametrize("path", NAMES, ids=range(len(NAMES)))
def test_safe_names(path: str) -> None:
    """A name has no folders and control characters, and at most 100 bytes."""
    assert make_attachment_name(clean_path(Redactor(), path), set()) == NAMES[path]


def test_unique_names() -> None:
    """Names of attachments differ even when case is ignored."""
    taken: set[str] = set()
    names = [
        make_attachment_name(path, taken) for path in ("a.json", "x/a.json", "y/A.json", "z/a")
    ]
    assert names == ["a.json", "a-2.json", "A-3.json", "a"]


@given(st.lists(st.text(max_size=150), max_size=8), st.sampled_from(["", ".gz"]))
def test_any_names(paths: list[str], ending: str) -> None:
    """Names are safe and unique for any paths."""
    taken: set[str] = set()
    redactor = Redactor()
    names = [make_attachment_name(clean_path(redactor, path), taken, ending) for path in paths]
    assert len({name.casefold() for name in names}) == len(paths)
    for name in names:
        assert 0 < len(name.encode()) <= 100
        assert name.isprintable()
        assert not name.startswith(".")
        assert "/" not in name
        assert name.endswith(ending)


# -- cuts --------------------------------------------------------------------------------------


@settings(max_examples=300, deadline=None)
@given(
    st.integers(0, 60_000), st.integers(0, 60_000), st.integers(1, 30_000), st.sampled_from([0, 60])
)
def test_no_half_secret_at_a_cut(before: int, after: int, most: int, line: int) -> None:
    """No part of a secret remains next to a cut, with lines or without."""
    redactor = Redactor()
    text = b"." * before + b" " + TOKEN.encode() + b" " + b"." * after
    if line:
        text = b"\n".join(text[at : at + 5000] for at in range(0, len(text), 5000))
    length = most + truncation.MARGIN_BYTES
    if len(text) <= 2 * length:
        return
    head = truncation.cut_head(redactor.mask_bytes(text[:length]), most)
    tail = truncation.cut_tail(redactor.mask_bytes(text[-length:]), most)
    assert len(head) <= most
    assert len(tail) <= most
    assert b"ghp_" not in head
    assert TOKEN[-8:].encode() not in tail


KEY = (
    b"-----BEGIN RSA PRIVATE KEY-----\n"
    + b"\n".join([b"QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVphYmNkZWZnaGlqa2xtbm9wcXJzdHV2"] * 20)
    + b"\n-----END RSA PRIVATE KEY-----\n"
)
PARTS = st.lists(
    st.one_of(
        st.sampled_from([KEY, TOKEN.encode(), b"password: hunter22hunter\n", b"\n", b" ", b'"']),
        st.integers(1, 5000).map(lambda size: b"." * size),
        st.integers(1, 200).map(lambda count: b"epoch 1 loss 0.5\n" * count),
    ),
    max_size=60,
)


@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(PARTS)
def test_masked_in_pieces(monkeypatch: pytest.MonkeyPatch, parts: list[bytes]) -> None:
    """Masking in pieces gives the same text as masking at once."""
    monkeypatch.setattr(masking, "PIECE_BYTES", 3000)
    text = b"".join(parts)
    once, pieces = Redactor(), Redactor()
    masked, count = masking.mask_in_pieces(pieces, text, lambda: None)
    assert masked == once.mask_bytes(text)
    assert (count, pieces.found) == (once.found.total(), once.found)


def test_a_file_full_of_secrets(place: Workplace) -> None:
    """A file with a secret in every line is given up at the deadline and stays in place."""
    file = place.write("secrets.txt", f"password={TOKEN[:16]}\n".encode() * 500_000)
    limits = {"files_bytes": 1 << 20, "file_bytes": 1 << 20, "files": 5}
    bundle = packer.pack([candidate(file)], **limits, redactor=Redactor(), deadline_s=0.2)
    assert only(bundle).why == "no time was left to read it"


@pytest.mark.parametrize("end", [b"\n", b" "], ids=["lines", "no lines"])
def test_no_half_secret_at_an_edge(end: bytes) -> None:
    """The outer edge of a piece is dropped even when masks made the piece short."""
    redactor = Redactor()
    keys = end + KEY.replace(b"\n", b"\\n" if end == b" " else b"\n") * 30
    secret = TOKEN.encode()
    for shift in range(1, len(secret) - 8):
        head = truncation.cut_head(redactor.mask_bytes(keys + end + secret[:-shift]), 40_000)
        tail = truncation.cut_tail(redactor.mask_bytes(secret[shift:] + keys), 40_000)
        assert secret[4:8] not in head
        assert secret[-8:] not in tail


@given(st.text(min_size=1), st.integers(0, 200))
def test_characters_stay_whole(text: str, most: int) -> None:
    """A cut through UTF-8 text falls between characters."""
    data = text.encode("utf-8", "replace")
    data.decode()
    assert truncation.cut_head(data, most, is_piece=False).decode() in data.decode()
    assert truncation.cut_tail(data, most, is_piece=False).decode() in data.decode()
