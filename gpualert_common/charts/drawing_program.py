"""The program that draws one picture: a chart on its standard input, the picture on its output.

It runs apart because V8, which computes the chart, ends the process when it fails.  Its address
space must not be limited: V8 reserves 64 GiB of it, and uses some 100 MB.
"""

from __future__ import annotations

import json
import os
import resource
import sys

from gpualert_common.charts.png import compress_png
from gpualert_common.processes.bootstrap import extend_import_path

LIBRARY_MISSING = 3
"""Exit status where the library cannot be imported."""
MEMORY_REFUSED = 4
"""Exit status where the address space is limited (``ulimit -v``)."""
MOST_MEMORY_BYTES = 2 << 30
"""Limit of the memory that is written to."""
_RESERVED_BYTES = 80 << 30
_SCALES = (1.0, 0.75, 0.5, 0.35)
"""Scales of a picture that is too large, by its first one."""


def main() -> None:
    """Draw the picture of the request, and exit."""
    request = json.load(sys.stdin.buffer)
    _set_limits()
    extend_import_path(request["sys_path"])
    try:
        import vl_convert
    except ImportError as error:
        _fail(LIBRARY_MISSING, str(error))
    options = {"vl_version": request["version"], "allowed_base_urls": []}
    spec = request["spec"]
    if request["format"] == "svg":
        picture = vl_convert.vegalite_to_svg(spec, **options).encode()
    else:
        for factor in _SCALES:
            scale = request["scale"] * factor
            picture = compress_png(vl_convert.vegalite_to_png(spec, scale=scale, **options))
            if len(picture) <= request["most_bytes"]:
                break
    sys.stdout.buffer.write(picture)
    sys.stdout.buffer.flush()
    os._exit(0)  # without the end of V8, which has nothing to save


def _set_limits() -> None:
    """Lift the limits of our own that the caller has, and set those of this program."""
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    if hard != resource.RLIM_INFINITY and hard < _RESERVED_BYTES:
        _fail(MEMORY_REFUSED, f"the address space is limited to {hard >> 20} MiB (ulimit -v)")
    resource.setrlimit(resource.RLIMIT_AS, (hard, hard))
    for kind, most in ((resource.RLIMIT_DATA, MOST_MEMORY_BYTES), (resource.RLIMIT_CORE, 0)):
        allowed = resource.getrlimit(kind)[1]
        if allowed == resource.RLIM_INFINITY or most < allowed:
            resource.setrlimit(kind, (most, allowed))


def _fail(status: int, reason: str) -> None:
    sys.stderr.write(f"{reason}\n")
    sys.exit(status)


if __name__ == "__main__":
    main()
