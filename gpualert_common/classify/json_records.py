"""Records of loggers that write JSON: the text of an error that one line holds."""

from __future__ import annotations

import json
from typing import Final

from gpualert_common.classify.lines import canonicalize
from gpualert_common.classify.tracebacks.exception_names import find_bare_exception

_MAX_CHARS: Final = 64 << 10
_LEVELS: Final = ("level", "levelname", "severity", "lvl", "log_level")
_ERRORS: Final = frozenset({"error", "err", "critical", "fatal", "panic", "alert", "emergency"})
_ERROR_NUMBER: Final = 50
_MESSAGES: Final = ("message", "msg", "event", "text")
_DETAILS: Final = ("exception", "exc_info", "traceback", "stack", "error", "err", "reason")


def read_error_record(line: str) -> str:
    """Return the text of the error that *line* holds as a JSON record, or *line* itself.

    It is the exception, if the record has one, or else the message with what follows it.
    structlog, python-json-logger, zap, logrus and pino name their fields like this.
    """
    if not (line.startswith("{") and line.endswith("}") and len(line) <= _MAX_CHARS):
        return line
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return line
    level = next((record[key] for key in _LEVELS if key in record), None)
    if not _is_error(level):
        return line
    fields = {key: _clean(one) for key, one in record.items() if isinstance(one, str)}
    message = next((fields[key] for key in _MESSAGES if fields.get(key)), "")
    if not message:
        return line
    details = [fields[key].splitlines()[-1] for key in _DETAILS if fields.get(key)]
    raised = (one for one in (*details, message) if find_bare_exception(one) is not None)
    return next(raised, ": ".join((message.splitlines()[-1], *details)))


def _is_error(level: object) -> bool:
    """Return whether *level* is one of an error, as a word, or as a number of pino or bunyan."""
    if isinstance(level, str):
        return level.strip().lower() in _ERRORS
    return isinstance(level, int) and level >= _ERROR_NUMBER


def _clean(text: str) -> str:
    """Return *text* without escape sequences and half characters, which no pattern can search."""
    return canonicalize(text.encode(errors="replace")).decode().strip()
