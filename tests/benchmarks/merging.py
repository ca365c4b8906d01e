"""Time and memory to merge the digests of a large job into its verdict."""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable

from gpualert_common.jobs.digests.digest import MOST_BYTES, Digest, StackGroupDigest, StoredDigest
from gpualert_common.jobs.digests.digest_codec import decode_file, encode_file
from gpualert_common.jobs.merging.merger import JobMerger
from gpualert_common.structs import replace
from tests.benchmarks.bench import Bench
from tests.benchmarks.measure import Row
from tests.jobs.composed_job import END, KEY, compose, end, lose, store

NODES = 750
MANY_NODES = 5000
MOST_S = 1.0
"""Together with their reading from the store, which takes longer."""
MOST_MB = 20.0
MOST_CONCLUDING_S = 2.0
"""For many nodes: seven times those of a large job."""
_MB = 1e6


def measure(bench: Bench) -> Row:
    """Measure the merging of digests of nearly 16 KB that are decoded, and the verdict on them."""
    count = bench.amount(NODES, 20)
    row = Row(f"verdict of a job of {count} nodes with 8 ranks each")
    digests = [_fill(one) for one in _make_digests(count)]
    rounds = range(bench.amount(10, 1))
    times = [_time(digests) for _round in rounds]
    row.add("adding all digests", [adding for adding, _concluding in times], "s")
    row.add("concluding", [concluding for _adding, concluding in times], "s")
    total = row.add("both", [sum(one) for one in times], "s")
    memory = row.add("memory of the merger", [_measure_memory(digests)], "MB")
    row.promise("both", total.median, MOST_S, "s")
    row.promise("memory of the merger", memory.median, MOST_MB, "MB")
    many = _make_digests(bench.amount(MANY_NODES, 20))
    name = f"concluding, {len(many)} nodes"
    concluding = row.add(name, [_time(many)[1] for _round in rounds], "s")
    row.promise(name, concluding.median, MOST_CONCLUDING_S, "s")
    return row


def _make_digests(count: int) -> list[StoredDigest]:
    """Return the digests of a job of which one node ran out of memory, and all others lost it."""
    culprit = end(compose(count // 2, count), "cuda_oom", END, rank=count // 2 * 8)
    others = [lose(node, END + 3, count) for node in range(count) if node != count // 2]
    return [store(one) for one in (*others, culprit)]


def _fill(stored: StoredDigest) -> StoredDigest:
    """Return a digest with groups of stacks up to the limit of its size."""
    digest = stored.digest
    room = MOST_BYTES - len(encode_file(digest)) - 1000
    groups = tuple(
        StackGroupDigest(
            (one.rank,),
            f"{digest.run_id}-{one.rank}",
            "collective",
            f"step of {digest.run_id} rank {one.rank}, train.py:{one.rank}",
            f"waits for {digest.run_id} ".ljust(room // len(digest.ranks), "."),
        )
        for one in digest.ranks
    )
    return StoredDigest(replace(digest, stacks=groups), stored.modified_at)


def _time(digests: list[StoredDigest]) -> tuple[float, float]:
    began = time.perf_counter()
    conclude = _add(digests)
    added = time.perf_counter()
    conclude()
    return added - began, time.perf_counter() - added


def _add(digests: list[StoredDigest]) -> Callable[[], object]:
    merger = JobMerger(KEY)
    for one in digests:
        merger.add(one)
    return lambda: merger.conclude(END + 20.0)


def _measure_memory(digests: list[StoredDigest]) -> float:
    """Return the memory that the merger keeps of digests that are decoded one by one."""
    stored = [(encode_file(one.digest), one.modified_at) for one in digests]
    merger = JobMerger(KEY)
    tracemalloc.start()
    for data, modified_at in stored:
        digest = decode_file(Digest, data)
        assert digest is not None
        merger.add(StoredDigest(digest, modified_at))
    report = merger.conclude(END + 20.0)
    kept, _peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert report is not None
    assert report.verdict.cause == "cuda_oom"
    return kept / _MB
