# /// case
# cause = "host_oom"
# exit_code = 1
# why = "the MemoryError of the worker is repeated in the parent"
# ///
"""A task of the pool runs out of its memory limit; the parent repeats the worker's traceback."""

import resource
from multiprocessing import Pool


def limit():
    resource.setrlimit(resource.RLIMIT_AS, (160 << 20, 160 << 20))


def build_index(n):
    index = {}
    for i in range(n):
        index[f"key-{i}"] = [i] * 8
    return len(index)


if __name__ == "__main__":
    with Pool(1, initializer=limit) as pool:
        for size in (1_000, 100_000, 10_000_000):
            print(f"index of {size:,} keys: {pool.apply(build_index, (size,)):,}", flush=True)
