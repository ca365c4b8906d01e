"""The begin of the watch over a group, or its failure without a trace."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack

from gpualert_common.agent.grouping import FoundGroup
from gpualert_common.agent.output_files import Outputs
from gpualert_common.agent.watch_spec import make_watch_spec
from gpualert_common.agent.watched_group import WatchedGroup
from gpualert_common.agent.watched_records import prepare_watch
from gpualert_common.settings import Setting


def begin_watch(
    group: FoundGroup, outputs: Outputs, settings: Mapping[str, Setting]
) -> WatchedGroup:
    """Return the watch over a group, which has the outputs from then on.

    If that fails, for any reason, it raises, and nothing stays open.
    """
    with ExitStack() as undo:
        undo.callback(outputs.close)
        spec = make_watch_spec(group.leader, outputs, settings, name=None)
        prepared = prepare_watch(spec, group.leader, outputs)
        undo.callback(prepared.record.release_own_lock)
        undo.callback(prepared.close)
        watched = WatchedGroup(group, spec, prepared, outputs)
        undo.pop_all()
    return watched
