"""The list of runs, newest first, from their records and the cache of their summaries."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable

from gpualert_common.listing.run_summary import RunSummary
from gpualert_common.listing.summary_cache import SummaryCache
from gpualert_common.record_locations import list_record_paths


def list_runs(
    places: Iterable[str],
    is_wanted: Callable[[RunSummary], bool] = lambda _run: True,
    most: int | None = None,
    *,
    on_note: Callable[[str], None] = lambda _text: None,
) -> list[RunSummary]:
    """Return the newest ``most`` of the runs that are wanted, newest first.

    Records of another user are left out; damaged ones are listed as such.  ``on_note`` gets a
    sentence about each cache that cannot be used.
    """
    places = list(places)
    caches = {place: SummaryCache(place) for place in places}
    found: list[RunSummary] = []
    for path in reversed(list_record_paths(places)):
        if most is not None and len(found) >= most:
            break
        cache = caches[os.path.dirname(os.path.dirname(path))]
        run = cache.summarize(path)
        if run is not None and is_wanted(run):
            found.append(run)
    for cache in caches.values():
        if cache.problem:
            on_note(cache.problem)
        else:
            cache.store()
    return found
