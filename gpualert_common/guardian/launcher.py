"""Gives an attempt its run: newly launched, or taken over from an earlier attempt."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gpualert_common.guardian import launch
from gpualert_common.guardian.attempt import Attempt
from gpualert_common.guardian.keys import Key
from gpualert_common.guardian.lease import LeaseRenewer
from gpualert_common.guardian.takeover import Takeover
from gpualert_common.record import Record
from gpualert_common.spec import RunSpec
from gpualert_common.structs import Struct

Prepare = Callable[[str, Sequence[str], Callable[[], None]], RunSpec]
"""Returns the run to launch, given the name of the key, the records of its earlier runs, of which
none is left, and what is to be called while that takes time.  The key's lock is held meanwhile."""


class ObtainedRun(Struct, frozen=True):
    """A run of an attempt; ``tried`` are the places that had no room for its record."""

    record: Record
    origin: str
    lease: LeaseRenewer | None = None
    tried: tuple[tuple[str, str], ...] = ()


def obtain_run(
    spec: RunSpec,
    attempt: Attempt | None,
    on_run: Callable[[ObtainedRun], None],
    *,
    log: Callable[[str], None],
    check: Callable[[], None],
    prepare: Prepare | None = None,
) -> None:
    """Launch the run, or take over the run that an earlier attempt of the same key left.

    ``on_run`` gets the run before its child is launched.  Without an ``attempt`` the run belongs to
    nobody.  ``prepare`` replaces ``spec`` by the run to launch, where one is launched.  Raises as
    :meth:`~.handle.RunHandle.launch` does, and what ``prepare`` raises.
    """
    if attempt is None:
        _launch(spec if prepare is None else prepare("", (), check), None, None, on_run)
        return
    key = Key(attempt.key, spec.state_dir)
    try:
        key.take(check)
        record, origin, lease = Takeover(key, spec, attempt, log, check).take_over()
        if record is None:
            if prepare is not None:
                spec = prepare(key.name, _list_earlier(key, attempt), check)
            _launch(spec, attempt, key, on_run)
        else:
            on_run(ObtainedRun(record, origin, lease))
    finally:
        key.release()


def _list_earlier(key: Key, attempt: Attempt) -> list[str]:
    paths = key.runs()
    before = attempt.before
    return paths if before is None or before.record in paths else [before.record, *paths]


def _launch(
    spec: RunSpec,
    attempt: Attempt | None,
    key: Key | None,
    on_run: Callable[[ObtainedRun], None],
) -> None:
    launched = launch.start(spec, attempt, key)
    try:
        lease = None
        if attempt is not None:
            lease = LeaseRenewer(launched.record, attempt, launched.guardian_pid)
        on_run(ObtainedRun(launched.record, "launched", lease, tuple(launched.tried)))
        launched.go()
    finally:
        launched.close()
