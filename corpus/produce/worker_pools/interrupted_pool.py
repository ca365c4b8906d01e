# /// case
# cause = "cancelled"
# paper_class = "traceback"
# exit_code = -2
# stop = {signal = "INT", when = "shard 6", pid = "group"}
# ///
"""Ctrl-C during a pool's work: every process prints a traceback of its own."""

import time
from multiprocessing import Pool


def deduplicate(shard):
    time.sleep(0.2)
    return shard, 1000 - shard


if __name__ == "__main__":
    with Pool(3) as pool:
        for shard, kept in pool.imap(deduplicate, range(500)):
            print(f"shard {shard} kept {kept}", flush=True)
