"""History of runs: one row for each ended run, in a file of the state directory, by its command.

``<state dir>/history.sqlite3`` outlives the records and can be rebuilt from them.  No caller waits
for it: if the file is locked for :data:`~.database.DEADLINE_S`, the row goes to
``history.waiting/`` and the next caller imports it.
"""

from gpualert_common.history.baseline import Baseline, Spread, compute_baseline
from gpualert_common.history.earlier_runs import EarlierRuns, find_earlier_runs
from gpualert_common.history.fingerprint import compute_fingerprint
from gpualert_common.history.indexing import IndexResult, import_pending, index_run, rebuild
from gpualert_common.history.past_run import PastRun, make_past_run
from gpualert_common.history.pending import queue_run
from gpualert_common.history.runs import History

__all__ = [
    "Baseline",
    "EarlierRuns",
    "History",
    "IndexResult",
    "PastRun",
    "Spread",
    "compute_baseline",
    "compute_fingerprint",
    "find_earlier_runs",
    "import_pending",
    "index_run",
    "make_past_run",
    "queue_run",
    "rebuild",
]
