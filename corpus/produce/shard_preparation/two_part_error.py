# /// case
# cause = "pickling"
# paper_class = "traceback"
# exit_code = 1
# why = "the exception of the worker cannot be rebuilt in the parent, so that the pool breaks and the message is lost"
# ///
"""A worker raises an exception of the program whose constructor pickle cannot call again."""

import os
import sys
from concurrent.futures import ProcessPoolExecutor

import numpy as np


class BadRecord(Exception):
    def __init__(self, shard, line):
        super().__init__(f"{shard}:{line}: cannot be used")
        self.shard, self.line = shard, line


def tokenize(shard):
    rng = np.random.default_rng(shard)
    lengths = rng.integers(1, 400, size=500)
    for line, length in enumerate(lengths):
        if shard == 9 and length > 395:
            raise BadRecord(f"shard-{shard:04d}", line)
    return shard, int(lengths.sum())


def main():
    print(f"tokenizing 16 shards with 2 of {os.cpu_count() and 'the'} cpus", flush=True)
    total = 0
    with ProcessPoolExecutor(2) as pool:
        for shard, tokens in pool.map(tokenize, range(16)):
            total += tokens
            print(f"shard-{shard:04d} {tokens:8,d} tokens", flush=True)
    print(f"{total:,} tokens in all", file=sys.stderr)


if __name__ == "__main__":
    main()
