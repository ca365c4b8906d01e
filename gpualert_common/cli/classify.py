"""``gpualert classify``: the verdict of an old log."""

from __future__ import annotations

import argparse
import json
import os
import sys

from gpualert_common import report
from gpualert_common.errors import UsageError
from gpualert_common.judge import Judge
from gpualert_common.spec import Ending

_STDIN_CHUNK_BYTES = 1 << 20


def classify(options: argparse.Namespace) -> int:
    """Print the verdict of one run from all its log files."""
    ending = Ending(0.0)
    ending.code = options.exit_code
    if ending.code is not None and not -64 <= ending.code <= 255:
        raise UsageError(f"--exit-code {ending.code}: a status is 0 to 255, or -n for signal n")
    judge = Judge()
    for log in options.logs:
        _read(judge, log)
    path = None if options.logs[-1] == "-" else os.path.abspath(options.logs[-1])
    verdict = judge.conclude(ending, {"log_path": path})
    if options.json:
        print(json.dumps(verdict, ensure_ascii=False))
    else:
        print("\n".join(report.full(verdict)))
    return 0


def _read(judge: Judge, log: str) -> None:
    if log != "-":
        try:
            judge.feed_file(log)
        except OSError as error:
            raise UsageError(f"{log}: {error.strerror}") from None
        return
    offset = 0
    judge.feed("stdin", b"", 0)
    while data := sys.stdin.buffer.read(_STDIN_CHUNK_BYTES):
        judge.feed("stdin", data, offset)
        offset += len(data)
