# /// case
# cause = "traceback"
# exit_code = 1
# why = "a KeyError of the program's own reduce step in a worker"
# ///
"""The reduce step of a vocabulary count uses a key that only some parts have."""

import collections
import string

from dask.distributed import Client, get_worker


def count(text):
    worker = get_worker()
    counts = collections.Counter(ch for ch in text.lower() if ch in string.ascii_lowercase)
    print(f"{worker.name}: {sum(counts.values())} letters", flush=True)
    return dict(counts)


def reduce(left, right):
    return {key: left[key] + right[key] for key in left.keys() | right.keys()}


def tree(client, parts):
    while len(parts) > 1:
        print(f"reducing {len(parts)} parts", flush=True)
        pairs = zip(parts[::2], parts[1::2])
        merged = [client.submit(reduce, a, b) for a, b in pairs]
        parts = merged + parts[len(merged) * 2 :]
    return parts[0].result()


def main():
    lines = [
        "the quick brown fox jumps over the lazy dog",
        "sphinx of black quartz, judge my vow",
    ] * 3 + ["hello"]
    with Client(n_workers=1, threads_per_worker=2, dashboard_address=None) as client:
        totals = tree(client, client.map(count, lines, pure=False))
        print(sorted(totals.items()))


if __name__ == "__main__":
    main()
