"""The last line of a training's log, which BashOperator returns."""

from __future__ import annotations

from gpualert_common.record import Record
from gpualert_common.record.log_end import read_last_line

_MOST_BYTES = 16 << 20
"""Of a longer last line only the end is returned, since the result goes into a database."""


def last_line(record: Record, encoding: str) -> str:
    """Return the last line as BashOperator does: decoded, without white space at its end.

    "" for an empty log and for one that ends in an empty line.  Of a line over 16 MiB only the end.
    The output of a job of Slurm is in the first log, notes about the job in the second one.
    """
    with open(record.open_log(record.logs[0]), "rb") as file:
        line = read_last_line(file, _MOST_BYTES)
    return line.decode(encoding, errors="backslashreplace").rstrip()
