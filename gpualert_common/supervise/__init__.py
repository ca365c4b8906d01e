"""From a spec to an ended run: prepare, launch, watch.  See docs/supervision.md."""

from __future__ import annotations

import os
import signal
import time

from gpualert_common.errors import GPUAlertError, UsageError
from gpualert_common.launch import libc, log_pipe, spawn
from gpualert_common.launch.preparation import PreparedRun, prepare
from gpualert_common.launch.signals import Inbox
from gpualert_common.processes.children import list_children
from gpualert_common.processes.marker import run_marker
from gpualert_common.processes.tree import ProcessTree
from gpualert_common.spec import Ending
from gpualert_common.supervise.recorder import Recorder
from gpualert_common.supervise.recorder_messages import end_message
from gpualert_common.supervise.recorder_process import RecorderProcess
from gpualert_common.supervise.stop import Stop
from gpualert_common.supervise.watch import Watch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from gpualert_common.model import Verdict
    from gpualert_common.record import Record
    from gpualert_common.spec import RunSpec
    from gpualert_common.supervise.ownership_policy import OwnershipPolicy
    from gpualert_common.supervise.recorder_hooks import RecorderHooks

_MOST_INTERRUPTIONS = 100
"""So many exceptions while one child is ended are no caller's impatience any more."""

__all__ = ["Supervised", "supervise"]


class Supervised:
    """A run that has ended: its record, how it ended, and the verdict if it came in time.

    ``sender`` says what a sender of alerts is needed for, as far as that is known by now.
    """

    __slots__ = ("ending", "record", "sender", "verdict")

    def __init__(
        self, record: Record, ending: Ending, verdict: Verdict | None, sender: str
    ) -> None:
        self.record = record
        self.ending = ending
        self.verdict = verdict
        self.sender = sender


def supervise(
    spec: RunSpec,
    hooks: Callable[[PreparedRun], RecorderHooks],
    *,
    own_process: bool,
    before_launch: Callable[[PreparedRun], None] = lambda _prepared: None,
    guard: OwnershipPolicy | None = None,
) -> Supervised:
    """Run ``spec`` to its end and return how it ended.

    ``own_process`` says that this process exists for the run (the CLI, a guardian): it then takes
    signals, adopts orphans and keeps its scribe in a process of its own.  Otherwise nothing of the
    calling process is touched.  ``before_launch`` is called when the record is ready; what it
    raises takes the record back.  ``guard`` decides what becomes of a run that nobody follows.

    Raises UsageError and NoDurableLogError before launch, when nothing has been started; after
    launch only what the caller's own threads or signals throw in.
    """
    spawn.check(spec)
    inbox = None
    if own_process:
        inbox = Inbox()
        inbox.install()
    prepared = prepare(spec)
    record = prepared.record
    try:
        before_launch(prepared)
    except BaseException:
        prepared.close()
        record.discard()
        raise
    scribe = RecorderProcess(
        lambda link: Recorder(
            record,
            prepared.launch_record,
            prepared.logs,
            hooks(prepared),
            link,
            reports_leases=guard is not None,
        ),
        in_process=not own_process,
        after_fork=lambda: _become_scribe(inbox),
    )
    try:
        ending = _launch_and_watch(spec, prepared, scribe, inbox, guard)
    except GPUAlertError:
        raise  # nothing was launched
    except BaseException as error:
        _end_unwatched(record, scribe, error)
        raise
    finally:
        verdict, sender = scribe.verdict, scribe.sender
        scribe.close()
        record.disown()
    return Supervised(record, ending, verdict, sender)


def _launch_and_watch(
    spec: RunSpec,
    prepared: PreparedRun,
    scribe: RecorderProcess,
    inbox: Inbox | None,
    guard: OwnershipPolicy | None,
) -> Ending:
    record = prepared.record
    env = spawn.environment(spec, record.run_id)
    copiers: list[int] = []
    outputs = _outputs(spec, prepared, copiers)
    others = copiers if inbox is None else list_children()
    adopts = inbox is not None and libc.become_subreaper()  # what it starts may be orphaned at once
    try:
        child = spawn.spawn(spec, env, outputs[0], outputs[-1], own_process=inbox is not None)
    except spawn.NotStartedError as error:
        os.write(outputs[-1], f"gpualert: {error.text}\n".encode())
        ending = _not_started(error)
        scribe.finish(end_message(ending, []))
        return ending
    except OSError as error:
        record.discard()
        raise UsageError(
            f"cannot start a process: {error.strerror}; nothing was launched"
        ) from None
    except UsageError:
        record.discard()
        raise
    finally:
        for fd in outputs:
            os.close(fd)
        prepared.log_fds = []
    if inbox is not None:
        inbox.arm()
    tree = ProcessTree(child.pid, run_marker(record.run_id), adopts=adopts, exclude=others)
    watch = Watch(child, spec, tree, scribe, inbox, guard, copiers)
    watch.run()
    return watch.ending


def _outputs(spec: RunSpec, prepared: PreparedRun, copiers: list[int]) -> list[int]:
    """The descriptors for stdout and stderr (one when merged): the logs, or pipes before them."""
    if spec.log_full == "fail":
        return prepared.log_fds
    pipes = []
    for name, log_fd in zip(spec.logs, prepared.log_fds, strict=True):
        count_fd = prepared.record.create_log(log_pipe.count_file(name), append=False)
        write_fd, pid = log_pipe.start_copier(log_fd, count_fd)
        os.close(count_fd)
        os.close(log_fd)
        pipes.append(write_fd)
        copiers.append(pid)
    return pipes


def _not_started(error: spawn.NotStartedError) -> Ending:
    ending = Ending(time.time(), time.time())
    ending.started = False
    ending.start_error = (error.number, error.text[:1000])
    return ending


def _end_unwatched(record: Record, scribe: RecorderProcess, error: BaseException) -> None:
    """End the child that an exception of the caller's came between: launched, not yet watched.

    Its number may not even have reached us, so it is found by its mark.
    """
    for _attempt in range(_MOST_INTERRUPTIONS):
        if scribe.finished:
            return
        try:
            tree = ProcessTree(None, run_marker(record.run_id))
            ending = Ending(time.time())
            ending.signal = int(signal.SIGTERM)
            ending.sender = {"command": type(error).__name__, "pid": os.getpid()}
            children = [process.pid for process in tree.members()]
            Stop(tree, signal.SIGTERM, 0.0, time.monotonic()).complete()
            for pid in children:
                _reap(pid)
            ending.ended_at = time.time()
            scribe.finish(end_message(ending, []))
        except BaseException:  # noqa: BLE001 - the child must not outlive its caller
            continue


def _reap(pid: int) -> None:
    try:
        os.waitpid(pid, os.WNOHANG)
    except ChildProcessError:
        pass  # a child of the child's


def _become_scribe(inbox: Inbox | None) -> None:
    if inbox is not None:
        inbox.ignore_in_scribe()
