# /// case
# cause = "none"
# exit_code = 0
# why = "a chunk that does not fit is split and done again; every chunk is done in the end"
# ///
"""The table of a chunk does not fit; the chunk is halved until it does."""

import sys
import traceback

import numpy as np

BUCKETS = 1 << 34


def minhash(rows):
    table = np.zeros((rows, BUCKETS if rows > 700 else 4096), dtype=np.uint64)
    return int(table.shape[0])


done, queue = 0, [(0, 1200), (1200, 600), (1800, 2400)]
while queue:
    start, rows = queue.pop(0)
    try:
        done += minhash(rows)
        print(f"dedup chunk {start}+{rows} ok, {done} done", flush=True)
    except MemoryError:
        traceback.print_exc(limit=1, file=sys.stdout)
        print(f"dedup chunk {start}+{rows} FAILED: out of memory, retrying in halves", flush=True)
        queue[:0] = [(start, rows // 2), (start + rows // 2, rows // 2)]
print(f"signatures of {done} documents written")
