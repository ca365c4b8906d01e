# /// case
# cause = "permission"
# exit_code = 1
# command = "setpriv --bounding-set=-dac_override,-dac_read_search,-fowner python {program}"
# needs = ["root"]
# why = "the database belongs to another job and may only be read"
# ///
"""The program keeps its progress in an SQLite file that it may only read."""

import os
import sqlite3

from loguru import logger

os.makedirs("store")
with sqlite3.connect("store/interactions.db") as db:
    db.execute("create table events (user int, item int, t int)")
    db.execute("create table progress (job text, offset int)")
    db.executemany(
        "insert into events values (?, ?, ?)", [(i % 50, i % 70, i) for i in range(2000)]
    )
db.close()
os.chmod("store/interactions.db", 0o444)
os.chmod("store", 0o555)


def batches(db, size):
    for start in range(0, 2000, size):
        yield (
            start,
            db.execute(
                "select user, item from events order by t limit ? offset ?", (size, start)
            ).fetchall(),
        )


def main():
    db = sqlite3.connect("store/interactions.db")
    counts = {}
    for start, rows in batches(db, 250):
        for user, item in rows:
            counts[user, item] = counts.get((user, item), 0) + 1
        logger.info("offset {} pairs {}", start, len(counts))
        if start % 1000 == 750:
            db.execute("insert into progress values ('als-v2', ?)", (start,))
            db.commit()
    logger.success("co-occurrence table done")


main()
