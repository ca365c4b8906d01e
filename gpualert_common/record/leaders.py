"""The live processes of a run that no other process of it started, by its record.

A supervised run has one, the command.  A watched one may have several, as the tasks of ``srun``.
"""

from __future__ import annotations

from gpualert_common.processes.host import boot_id
from gpualert_common.processes.marker import run_marker
from gpualert_common.processes.procfs import ProcessStat, read_stat
from gpualert_common.processes.sampled_tree import SampledTree
from gpualert_common.record import Record
from gpualert_common.record.watch_history import read_history


def find_leaders(record: Record) -> list[ProcessStat]:
    """Return the leaders that have not been reaped; never another process with such a number.

    Raises RecordError.
    """
    unended = read_history(record).unended
    stats = [read_stat(pid) for pid, _start in unended]
    found = [one for one in stats if one is not None and one.identity in unended]
    return found if found and record.spec.boot_id == boot_id() else []


def sample_tree(record: Record) -> SampledTree:
    """Return the processes of a run, to be sampled: those of all leaders, and by its marker.

    Raises RecordError.
    """
    leaders = find_leaders(record)
    tree = SampledTree(leaders[0].pid if leaders else None, run_marker(record.run_id))
    for one in leaders:
        tree.include(one)
    return tree
