"""Damage to the files of a record: wrong values, flipped bytes, and other things than files."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

SECRET = "CONTENT-OF-ANOTHER-FILE"

OPTIONAL_FILES: dict[str, tuple[dict[str, Any], ...]] = {
    "claim.json": ({"owner": "x", "number": 1, "at": 1.0},),
    "outcome.json": (
        {"state": "up_for_retry", "final": False, "next_within_s": 60.0, "owner": "x", "number": 1},
    ),
    "successor.json": ({"number": 2, "at": 1.0},),
    "baseline.json": ({"complete": True, "files": {"/tmp/x": [1, 2, 3, 4]}},),
    "bundle.mailbox.json": (
        {"artifacts": [{"path": "/x", "name": "x"}], "attachments": [], "notes": []},
    ),
    "telemetry.jsonl": (
        {"source": {"name": "memory", "available": True, "facts": {"total_bytes": 1}}},
        {"columns": {"host": ["used_bytes", "written_bytes_total"], "gpu:0": ["percent"]}},
        {"at": 1.0, "n": 1, "rows": {"host": [1, 2], "gpu:0": [50]}},
        {"at": 2.0, "n": 2, "rows": {"host": [3, 4]}, "low": {"host": [1, 2]}},
        {"event": {"what": "oom", "of": "host", "source": "kernel_log", "at": 1.5, "text": "x"}},
    ),
    "control/1.1.stop": ({"kind": "stop", "grace_s": 1.0, "sender": {"pid": 1}, "at": 1.0},),
    "control/1.2.adopt": ({"kind": "adopt", "owner": "x", "number": 2, "lease_s": 5.0},),
    "output.idx": (),
    ".beat": (),
    ".watch": (),
    "control/.lease-x": (),
    "outbox": (),
    "control": (),
}
"""Files that a record may lack, with their lines; they are damaged all the same."""

VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 2, 5, 1e400, -1e400, float("nan"), 1.5, 10**12, 10**30),
    *(10**400, 2**31, 2**63, -(2**63), 253402300800, "", "x", "nan", "1e400", "\0", "\ud800"),
    *("/etc/passwd", "../../etc/passwd", "output.log", "events.jsonl", "held", "pending", "apart"),
    *("%s{}$(id)\x1b[31m\n", "x" * 10_000, [], [5], [[]], ["x"], [None] * 3, {}, {"": None}),
    *({"x": {"y": []}}, {"pid": "x", "schema": "y"}, ["../../etc/passwd", "/etc/passwd", "a/b"]),
    *(["output.log"] * 500, [["x", 1]] * 50, [1e400], "failed", "mailbox", "RuntimeError"),
)
CONTENTS: tuple[bytes, ...] = (
    *(b"", b"\n", b"null", b"[]", b"{}", b"5", b'"x"', b"NaN", b"\0" * 100, b"\xff\xfe", b"{" * 10),
    *(b"[" * 200_000, b'{"schema": 1}', b'{"schema": 2}', b'{"schema": 1}\n' * 1000),
    *(b'{"schema": 1, "x": ' + b'{"x":' * 100_000, b'{"schema": NaN}', b"\n" * 100_000),
)


_SHARES = st.integers(0, 999)


@st.composite
def damages(draw: st.DrawFn, files: tuple[str, ...]) -> tuple[str, Callable[[Path], None]]:
    """Return one damage to a record that has these files: its description, and its function."""
    name = draw(st.sampled_from(files) | st.sampled_from(sorted(OPTIONAL_FILES)))
    kind = draw(st.sampled_from(["value"] * 6 + ["bytes"] * 2 + ["content", "thing"]))
    if kind == "thing":
        thing = draw(st.sampled_from(sorted(THINGS)))
        return f"{name} becomes {thing}", lambda record: _replace(record / name, THINGS[thing])
    if kind == "content":
        content = draw(st.sampled_from(CONTENTS))
        return f"{name} has {content[:40]!r}", lambda record: _write(record / name, content)
    if kind == "bytes":
        at, by = draw(st.floats(0, 1)), draw(st.sampled_from([b"", b"\0", b'"', b"9" * 400, b"-"]))
        cut = draw(st.booleans())
        return (
            f"{name} has {by!r} at {at:.3f}, cut={cut}",
            lambda record: _damage_bytes(record / name, at, by, cut=cut),
        )
    steps = [number / 1000 for number in draw(st.lists(_SHARES, min_size=1, max_size=6))]
    value = draw(st.sampled_from(VALUES))
    removes = draw(st.integers(0, 5)) == 0
    return (
        f"{name} at {steps} has {'nothing' if removes else repr(value)[:80]}",
        lambda record: _change_value(record / name, steps, value, removes=removes),
    )


def _can_write(path: Path) -> bool:
    """Return whether a file can be there: an earlier damage may have put another thing there."""
    parent = path.parent
    return (path.is_file() or not os.path.lexists(path)) and (
        parent.is_dir() or not os.path.lexists(parent)
    )


def _write(path: Path, content: bytes) -> None:
    if not _can_write(path):
        return
    path.parent.mkdir(0o700, exist_ok=True)
    path.write_bytes(content)


def _replace(path: Path, make: Callable[[Path], None]) -> None:
    if os.path.lexists(path.parent) and not path.parent.is_dir():
        return
    if path.is_dir() and not path.is_symlink():
        path.rename(path.with_name(f".{path.name}.before"))
    path.unlink(missing_ok=True)
    path.parent.mkdir(0o700, exist_ok=True)
    make(path)


def _damage_bytes(path: Path, at: float, by: bytes, *, cut: bool) -> None:
    if path.is_file():
        data = path.read_bytes()
        offset = int(at * len(data))
        path.write_bytes(data[:offset] + by + (b"" if cut else data[offset + len(by) :]))


def _change_value(path: Path, steps: list[float], value: Any, *, removes: bool) -> None:
    """Change one value of a JSON file; of one with an object on each line, a value of a line."""
    if not _can_write(path):
        return
    lines = _read_lines(path)
    index = int(steps[0] * len(lines))
    try:
        found = json.loads(lines[index])
    except (ValueError, IndexError, RecursionError):
        return
    box: Any = [found]
    part, key = box, 0
    for step in steps:
        below = part[key]
        if not isinstance(below, dict | list) or not below:
            break
        part, key = (
            below,
            (list(below) if isinstance(below, dict) else range(len(below)))[int(step * len(below))],
        )
    if removes and part is not box:
        del part[key]
    else:
        part[key] = value
    lines[index] = json.dumps(box[0])
    _write(path, "\n".join(lines).encode("utf-8", "replace") + b"\n")


def _read_lines(path: Path) -> list[str]:
    """Return the lines of a file, or those that it would have."""
    if path.is_file():
        return path.read_text(errors="replace").splitlines()
    name = str(path.relative_to(next(one for one in path.parents if one.parent.name == "runs")))
    return [json.dumps({"schema": 1, **line}) for line in OPTIONAL_FILES.get(name, ())]


def _make_socket(path: Path) -> None:
    here = os.getcwd()
    os.chdir(path.parent)  # the path of a socket is short
    try:
        with socket.socket(socket.AF_UNIX) as one:
            one.bind(path.name)
    finally:
        os.chdir(here)


def _make_unreadable(path: Path) -> None:
    path.touch(0o000)


def _make_hole(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(1 << 30)


def outside(path: Path) -> Path:
    """Return the file with the secret, next to the state directory of a damaged file."""
    return next(parent for parent in path.parents if parent.name == "state").parent / "elsewhere"


THINGS: dict[str, Callable[[Path], None]] = {
    "a named pipe": os.mkfifo,
    "a folder": Path.mkdir,
    "a socket": _make_socket,
    "a link to another file": lambda path: path.symlink_to(outside(path) / "secret"),
    "a link to a folder": lambda path: path.symlink_to(outside(path)),
    "a link to a device": lambda path: path.symlink_to("/dev/zero"),
    "a link to itself": lambda path: path.symlink_to(path.name),
    "a dangling link": lambda path: path.symlink_to("nowhere"),
    "an unreadable file": _make_unreadable,
    "nothing": lambda path: None,
    "a file with a hole of 1 GB": _make_hole,
}
