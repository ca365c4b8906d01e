"""Python stacks of another process, by the program py-spy.

It reads the memory of the process.  Without pausing it, the stack of a thread that runs may be
inconsistent; py-spy then reports an error or an impossible stack, and is started again.  A pause
takes some milliseconds; py-spy's own documentation warns that it may disturb system calls.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sysconfig
import time
from collections.abc import Mapping
from typing import Any

from gpualert_common.processes.procfs import read
from gpualert_common.stacks.dump import StackFrame
from gpualert_common.stacks.source_lines import INLINE_CODE, is_own_file
from gpualert_common.structs import Struct, replace

PROGRAM = "py-spy"
_TRIES = 3
_TIMEOUT_S = 5.0
_MOST_OUTPUT_BYTES = 8 << 20
_MOST_THREADS = 64
_INNER_FRAMES, _OUTER_FRAMES = 40, 8
"""Frames of a deeper stack that are kept."""
UNNAMED = "0x"
"""Beginning of the name of a native frame without a symbol: an address, other in each process."""
_STARTERS = ("/multiprocessing/", "/joblib/", "/torch/_inductor/")
"""Folders of libraries that start processes by ``python -c``."""
_TEMPLATE = re.compile(r"<[^<>]*>")
_REFUSALS = ("permission denied", "error: permission denied", "operation not permitted")
_SYS_PTRACE = 19
_SCOPE = "/proc/sys/kernel/yama/ptrace_scope"


class PythonThread(Struct, frozen=True):
    """One thread of Python: its frames are those of Python, the innermost first."""

    tid: int
    name: str
    holds_gil: bool
    frames: tuple[StackFrame, ...]


class PythonStacks(Struct, frozen=True):
    """The Python threads of a process, or the problem; ``took_ms`` is the whole time of py-spy."""

    threads: tuple[PythonThread, ...] = ()
    problem: str = ""
    took_ms: int = 0


def find_program() -> str | None:
    """Return the path of py-spy: beside this Python, or on PATH."""
    beside = os.path.join(sysconfig.get_path("scripts"), PROGRAM)
    return beside if os.access(beside, os.X_OK) else shutil.which(PROGRAM)


def find_obstacle(uid: int | None = None) -> tuple[str, str]:
    """Return why the stacks of processes of a user (by default of this one) cannot be read, and
    the remedy; ("", "") if they can."""
    if find_program() is None:
        return "py-spy is not installed", "pip install 'gpualert-common[stacks]'"
    if _has_capability():
        return "", ""
    remedy = "run gpualert as root, or with CAP_SYS_PTRACE (docker run --cap-add SYS_PTRACE)"
    if uid is not None and uid != os.geteuid():
        return f"the process belongs to user {uid}", remedy
    scope = read(_SCOPE).strip().decode("ascii", "replace")
    if scope in ("", "0"):
        return "", ""
    why = f"the kernel forbids it (kernel.yama.ptrace_scope is {scope})"
    return why, remedy if scope == "3" else f"{remedy}, or set kernel.yama.ptrace_scope to 0"


def explain_refusal(pid: int) -> str:
    """Return why the memory of a process cannot be read, which its ``maps`` have shown."""
    try:
        uid = os.stat(f"/proc/{pid}").st_uid
    except OSError:
        uid = None
    return find_obstacle(uid)[0] or "not permitted"


def read_python_stacks(
    pid: int, *, is_pausing: bool = False, with_native: bool = False
) -> PythonStacks:
    """Return the Python stacks of a process.  ``with_native`` adds native frames, and pauses."""
    program = find_program()
    if program is None:
        return PythonStacks(problem=find_obstacle()[0])
    command = [program, "dump", "--json", "--full-filenames", "--pid", str(pid)]
    command += ["--native"] if with_native else [] if is_pausing else ["--nonblocking"]
    began = time.monotonic()
    problem = ""
    for _try in range(_TRIES):
        try:
            done = subprocess.run(
                command, stdin=subprocess.DEVNULL, capture_output=True, timeout=_TIMEOUT_S
            )
        except subprocess.TimeoutExpired:
            problem = f"py-spy did not answer within {_TIMEOUT_S:.0f} s"
            break
        except OSError as error:
            problem = f"{program}: {error.strerror}"
            break
        took_ms = round((time.monotonic() - began) * 1000)
        if done.returncode == 0 and len(done.stdout) <= _MOST_OUTPUT_BYTES:
            try:
                return PythonStacks(parse_threads(done.stdout), took_ms=took_ms)
            except (ValueError, KeyError, TypeError) as error:
                problem = f"py-spy's output has another form: {error}"
        else:
            problem = describe_error(done.stderr)
    return PythonStacks(problem=problem, took_ms=round((time.monotonic() - began) * 1000))


def parse_threads(output: bytes) -> tuple[PythonThread, ...]:
    """Return the threads in py-spy's JSON.  Raises ValueError, KeyError, TypeError."""
    values = json.loads(output.decode("utf-8", "replace"))
    threads = [_parse_thread(one) for one in values[:_MOST_THREADS]]
    is_inline = any(map(_runs_inline_code, threads))
    return tuple(map(_own_inline_code, threads)) if is_inline else tuple(threads)


def _runs_inline_code(thread: PythonThread) -> bool:
    """Return whether a thread runs the code of ``python -c``, not that of a library's process."""
    outer = thread.frames[-2:]
    is_inline = bool(outer) and (outer[-1].function, outer[-1].file) == ("<module>", INLINE_CODE)
    return is_inline and not any(part in outer[0].file for part in _STARTERS)


def _own_inline_code(thread: PythonThread) -> PythonThread:
    frames = (replace(one, is_own=one.is_own or one.file == INLINE_CODE) for one in thread.frames)
    return replace(thread, frames=tuple(frames))


def _parse_thread(value: Mapping[str, Any]) -> PythonThread:
    frames = value["frames"]
    if len(frames) > _INNER_FRAMES + _OUTER_FRAMES:
        frames = frames[:_INNER_FRAMES] + frames[-_OUTER_FRAMES:]
    return PythonThread(
        tid=int(value.get("os_thread_id") or 0),
        name=str(value.get("thread_name") or ""),
        holds_gil=bool(value.get("owns_gil")),
        frames=tuple(_parse_frame(one) for one in frames if not one["name"].startswith(UNNAMED)),
    )


def _parse_frame(value: Mapping[str, Any]) -> StackFrame:
    file, line = str(value.get("filename") or ""), int(value.get("line") or 0)
    name = str(value["name"])
    shown = name if line else strip_templates(name)
    return StackFrame(shown, file, line, is_own=is_own_file(file))


def strip_templates(name: str) -> str:
    """Return the name of a function of C++ without its template arguments and parameters."""
    while (shorter := _TEMPLATE.sub("", name)) != name:
        name = shorter
    return name.partition("(")[0] or name


def describe_error(output: bytes) -> str:
    """Return the reason in py-spy's error: its last "Reason", or the first line."""
    lines = output.decode("utf-8", "replace").split("\n")
    lines = [line.strip() for line in lines if line.strip()]
    if any(line.lower().startswith(_REFUSALS) for line in lines):
        return "not permitted"
    reasons = [line.partition(" ")[2] for line in lines if line[:1].isdigit()]
    text = reasons[-1] if reasons else lines[0] if lines else "no output"
    return f"py-spy: {text.removeprefix('Error: ')}"


def _has_capability() -> bool:
    """Return whether this process may trace every process of its user namespace."""
    for line in read("/proc/self/status").splitlines():
        if line.startswith(b"CapEff:"):
            return bool(int(line.split()[1], 16) >> _SYS_PTRACE & 1)
    return False
