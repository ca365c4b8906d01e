"""Compiling the stand-in."""

from __future__ import annotations

import atexit
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

NAME = "libnvidia-ml.so.1"


@cache
def library(hidden: tuple[str, ...] = ()) -> Path:
    """The directory with the compiled library, less the functions that it shall not have.

    Compiled once for each set of these; removed when the process ends.  Raises AssertionError with
    the compiler's words when it does not compile, and OSError when there is no compiler ``cc``.
    """
    made = Path(tempfile.mkdtemp(prefix="standin-nvml-"))
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    shown = made / "shown.map"
    shown.write_text(f"{{ global: nvml*; local: {''.join(f'{name}; ' for name in hidden)}*; }};")
    command = ["cc", "-std=gnu17", "-O1", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC"]
    command += [f"-Wl,-soname,{NAME}", f"-Wl,--version-script,{shown}", "-o", str(made / NAME)]
    command += [str(source) for source in sorted(Path(__file__).parent.glob("*.c"))]
    done = subprocess.run([*command, "-lm", "-lpthread"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return made
