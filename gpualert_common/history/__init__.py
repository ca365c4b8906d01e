"""Ended runs in a SQLite file, found again by their command.

``<state dir>/history.sqlite3`` outlives the records that it was filled from, and can be filled from
them again.  Nothing waits for it: whoever finds it locked for :data:`~.database.DEADLINE_S` leaves
the row in ``history.waiting/``, from where the next one takes it in.
"""

from gpualert_common.history.baseline import Baseline, Spread, baseline
from gpualert_common.history.fingerprint import fingerprint
from gpualert_common.history.indexing import IndexResult, rebuild, remember, settle
from gpualert_common.history.past_run import PastRun, past_run
from gpualert_common.history.pending import leave
from gpualert_common.history.recall import EarlierRuns, recall
from gpualert_common.history.runs import History

__all__ = [
    "Baseline",
    "EarlierRuns",
    "History",
    "IndexResult",
    "PastRun",
    "Spread",
    "baseline",
    "fingerprint",
    "leave",
    "past_run",
    "rebuild",
    "recall",
    "remember",
    "settle",
]
