"""Dumps in the record of a run: one JSON object per line of ``stacks.jsonl``."""

from __future__ import annotations

import os

from gpualert_common.codec import decode, encode
from gpualert_common.errors import DamagedFileError, RecordError
from gpualert_common.record import Record
from gpualert_common.record.directory import encode as encode_json
from gpualert_common.stacks.dump import Dump
from gpualert_common.structs import replace

STACKS = "stacks.jsonl"
MOST_DUMPS = 10
MOST_REQUESTED = 3
"""Dumps on request that are stored: two for each of three suspicions, and one of a stop, follow."""
_MOST_DUMP_BYTES = 2 << 20
_MOST_BYTES = MOST_DUMPS * (_MOST_DUMP_BYTES + 1)


def store_dump(record: Record, dump: Dump, most: int = MOST_DUMPS) -> bool:
    """Append a dump to the record; False if it has as many as it may have.  Raises OSError."""
    if count_dumps(record) >= most:
        return False
    line = encode_json(encode(dump))
    if len(line) > _MOST_DUMP_BYTES:
        line = encode_json(encode(_keep_main_threads(dump)))
    if len(line) > _MOST_DUMP_BYTES:
        return False
    record.append(STACKS, line)
    return True


def count_dumps(record: Record) -> int:
    """Return the number of dumps in the record."""
    return (record.read_part(STACKS, 0, _MOST_BYTES) or b"").count(b"\n")


def read_dumps(record: Record) -> list[Dump]:
    """Return the dumps in the record, oldest first, without damaged ones.

    Raises RecordError if the file cannot be read.
    """
    import json

    where = os.path.join(record.path, STACKS)
    found = []
    for line in (record.read_part(STACKS, 0, _MOST_BYTES) or b"").splitlines()[:MOST_DUMPS]:
        try:
            dump = decode(Dump, json.loads(line), where)
        except (ValueError, RecursionError, DamagedFileError, RecordError):
            continue  # a line that is incomplete, or of a later release
        if all(map(dump.is_sound, dump.processes)):
            found.append(dump)
    return found


def _keep_main_threads(dump: Dump) -> Dump:
    """Return a dump without the other threads, and without the text of the lines."""
    used = sorted({one.main.stack for one in dump.processes if one.main.stack is not None})
    indices = {old: new for new, old in enumerate(used)}
    processes = tuple(
        replace(
            one,
            threads=(
                replace(
                    one.main, stack=None if one.main.stack is None else indices[one.main.stack]
                ),
            ),
        )
        for one in dump.processes
    )
    stacks = tuple(
        tuple(replace(frame, code="") for frame in dump.stacks[old][:32]) for old in used
    )
    return replace(dump, processes=processes, stacks=stacks)
